"use strict";
// A chart of lines over the time, as SVG in an element of the page. Colors are those of classes, so that they follow the color scheme.
// The legend shows the values at the pointer, or the last ones.
class Chart {
  static height = 210;
  static margin = { left: 52, right: 8, top: 8, bottom: 24 };
  static seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
  static round = [...Array(20).keys()].flatMap((n) => [1, 2, 5].map((m) => Number(`${m}e${n - 4}`))); // 0.0001 to 5e15

  // lines have a label, the name of a color, and whether the area below is filled. range returns the least and the greatest value of the axis,
  // given the greatest value of the lines. time, tick and value return texts: of seconds since 1970, of a value at the axis, and of one in the legend.
  constructor(place, lines, { range, time, tick, value }) {
    Object.assign(this, { place, lines, range, time, tick, value, data: [[]], at: null });
    this.svg = this.element("svg", { width: "100%", height: Chart.height, "aria-hidden": true });
    this.texts = ["", ...lines.map((line) => line.color)].map((color) => {
      const span = document.createElement("span"), text = document.createElement("b");
      if (color) span.append(Object.assign(document.createElement("i"), { className: color }));
      span.append(text);
      return span;
    });
    const legend = Object.assign(document.createElement("p"), { className: "legend" });
    legend.append(...this.texts);
    place.replaceChildren(this.svg, legend);
    this.svg.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw(this.data)).observe(place);
  }

  element(name, attributes, text) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // ticks returns the multiples of the least of the sizes of which there are at most so many.
  ticks([low, high], sizes, most) {
    const size = sizes.find((s) => (high - low) / s <= most) ?? high - low;
    const ticks = [];
    for (let n = Math.ceil(low / size); n * size <= high; n++) ticks.push(n * size);
    return ticks;
  }

  // draw draws data: the times, in seconds since 1970, and the values of each line, which are null where there is a gap.
  draw(data) {
    this.data = data;
    const [times, ...values] = data;
    const { left, right, top, bottom } = Chart.margin, width = this.place.clientWidth, base = Chart.height - bottom;
    if (width === 0) return;
    this.svg.replaceChildren();
    if (times.length > 0) {
      const span = [times[0], Math.max(times.at(-1), times[0] + 1)];
      const [low, high] = this.range(Math.max(0, ...values.flat()));
      this.x = (t) => left + ((t - span[0]) / (span[1] - span[0])) * (width - left - right);
      const y = (v) => base - ((v - low) / (high - low)) * (base - top);
      for (const v of this.ticks([low, high], Chart.round, 5)) {
        this.svg.append(this.element("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
          this.element("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, this.tick(v)));
      }
      for (const t of this.ticks(span, Chart.seconds, (width - left - right) / 90)) {
        this.svg.append(this.element("line", { class: "grid", x1: this.x(t), x2: this.x(t), y1: top, y2: base }),
          this.element("text", { x: this.x(t), y: Chart.height - 6, "text-anchor": "middle" }, this.time(t)));
      }
      values.forEach((list, i) => {
        const { color, fill } = this.lines[i];
        for (const part of this.parts(times, list)) {
          const path = part.map(([t, v]) => `${this.x(t).toFixed(1)},${y(v).toFixed(1)}`).join("L");
          if (fill) this.svg.append(this.element("path", { class: `area ${color}`, d: `M${this.x(part[0][0])},${base}L${path}L${this.x(part.at(-1)[0])},${base}Z` }));
          this.svg.append(this.element("path", { class: `line ${color}`, d: "M" + path }));
        }
      });
      this.cursor = this.svg.appendChild(this.element("line", { class: "cursor", y1: top, y2: base }));
    }
    this.point(this.at);
  }

  // parts returns the points between gaps.
  parts(times, values) {
    const parts = [[]];
    values.forEach((v, i) => (v === null ? parts.push([]) : parts.at(-1).push([times[i], v])));
    return parts.filter((part) => part.length > 0);
  }

  // point shows the values that are nearest to a place, or the last ones.
  point(at) {
    this.at = at;
    const [times, ...values] = this.data;
    let n = times.length - 1;
    if (at !== null) times.forEach((t, i) => { if (Math.abs(this.x(t) - at) < Math.abs(this.x(times[n]) - at)) n = i; });
    if (this.cursor && n >= 0) {
      for (const key of ["x1", "x2"]) this.cursor.setAttribute(key, this.x(times[n]));
      this.cursor.classList.toggle("shown", at !== null);
    }
    this.texts.forEach((span, i) => {
      const text = i === 0 ? (n < 0 ? "–" : this.time(times[n], true)) : this.value(n < 0 ? null : values[i - 1][n]);
      span.lastChild.textContent = i === 0 ? `${text} UTC` : `${this.lines[i - 1].label} ${text}`;
    });
  }
}
