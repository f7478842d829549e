"use strict";
// The page of "ringuid serve". It reads the events of /v1/events by fetch, because EventSource cannot send a token.
(() => {
  const maxSamples = 600;
  const one = (id) => document.getElementById(id);
  const cells = {};
  for (const e of document.querySelectorAll("[data-key]")) cells[e.dataset.key] = e;

  const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const pad = (n) => String(n).padStart(2, "0");
  const date = (t) => `${t.getUTCFullYear()}-${pad(t.getUTCMonth() + 1)}-${pad(t.getUTCDate())}`;
  const clock = (t) => `${pad(t.getUTCHours())}:${pad(t.getUTCMinutes())}:${pad(t.getUTCSeconds())}`;
  // whole returns an integer as text. Beyond 2^53, numbers from JSON are rounded.
  const whole = (n) => (Number.isSafeInteger(n) ? "" : "≈ ") + integer.format(n);
  const rate = (x) => (x < 100_000 ? integer.format(x) : compact.format(x));

  // instant returns a time as text. Date cannot parse years beyond 9999, which are printed as they are.
  const instant = (text) => {
    const t = new Date(text);
    return isNaN(t) ? text : `${date(t)} ${clock(t)} UTC`;
  };

  // duration returns a number of seconds in words.
  const duration = (s) => {
    if (s < 0) return "-" + duration(-s);
    const units = [["years", 31_557_600], ["days", 86_400], ["h", 3600], ["min", 60]];
    for (const [name, size] of units) if (s >= 2 * size) return `${(s / size).toFixed(s / size < 10 ? 1 : 0)} ${name}`;
    return s === 0 || s >= 10 ? `${Math.round(s)} s` : `${s.toFixed(1)} s`;
  };

  // show sets a figure. value, which tests read, is the figure without rounding.
  const show = (key, text, value) => {
    const cell = cells[key];
    if (!cell) return;
    if (cell.textContent !== String(text)) cell.textContent = text;
    if (value !== undefined) cell.dataset.value = value;
  };

  // Charts.
  const samples = []; // from the server, the oldest first
  let charts = [];

  const figure = (v) => (v == null ? "–" : v < 1 ? String(Number(v.toPrecision(2))) : v < 100 ? String(Math.round(v * 10) / 10) : integer.format(v));
  // hour returns the time of a second since 1970. At an axis, seconds are left out if they are 0.
  const hour = (t, isWhole) => (isWhole ? clock(new Date(t * 1000)) : clock(new Date(t * 1000)).replace(/:00$/, ""));
  const newChart = (id, lines, range) =>
    new Chart(one(id), lines, { range, time: hour, tick: (v) => (v < 1 ? figure(v) : compact.format(v)), value: figure });

  let hasUID = true, hasRing = true, hasTags = true;
  const drawCharts = () => {
    if (charts.length === 0) {
      const rates = [];
      if (hasUID) rates.push({ label: "UIDs", color: "one", fill: true });
      if (hasTags) rates.push({ label: "Numbers", color: "two" });
      const fromZero = (least) => (greatest) => [0, Math.max(least, greatest * 1.1)];
      charts = [
        { chart: newChart("chart-rate", rates, fromZero(1)), data: rateData },
        { chart: newChart("chart-requests", [{ label: "Requests", color: "three", fill: true }], fromZero(1)), data: () => [seconds(), perSeconds("requests")] },
        { chart: newChart("chart-latency", [{ label: "Median", color: "two" }, { label: "99 %", color: "three" }], fromZero(0.1)), data: latencyData },
      ];
      if (hasRing) charts.push({ chart: newChart("chart-fill", [{ label: "Fill level", color: "two", fill: true }], () => [0, 100]), data: fillData });
    }
    for (const c of charts) c.chart.draw(c.data());
  };

  const perSecond = (key, i) => {
    const seconds = (samples[i].t - samples[i - 1].t) / 1000;
    const more = samples[i][key] - samples[i - 1][key];
    return seconds > 0 && more >= 0 ? more / seconds : null; // the counters of tags that were dropped are gone
  };
  const seconds = () => samples.slice(1).map((s) => s.t / 1000);
  const perSeconds = (key) => samples.slice(1).map((_, i) => perSecond(key, i + 1));
  const rateData = () => {
    const keys = [...(hasUID ? ["issued"] : []), ...(hasTags ? ["numbers"] : [])];
    return [seconds(), ...keys.map(perSeconds)];
  };
  const latencyData = () => [samples.map((s) => s.t / 1000), ...["p50", "p99"].map((k) => samples.map((s) => s[k] * 1000 || null))];
  const fillData = () => [samples.map((s) => s.t / 1000), samples.map((s) => s.fill * 100)];

  const addSample = (s) => {
    if (samples.length > 0 && s.t <= samples[samples.length - 1].t) return;
    samples.push(s);
    if (samples.length > maxSamples) samples.shift();
  };

  // Tables.
  const shown = {}; // by the table
  const fillTable = (id, rows, columns, nothing) => {
    const text = JSON.stringify([rows, nothing]);
    if (shown[id] === text) return; // so that a text that somebody selects remains selected
    shown[id] = text;
    const body = document.createDocumentFragment();
    const names = [...one(id).closest("table").tHead.rows[0].cells].map((th) => th.textContent); // for tables that a phone stacks
    for (const row of rows) {
      const tr = document.createElement("tr");
      tr.setAttribute("role", "row");
      row.forEach(([text, className], i) => {
        const td = document.createElement("td");
        td.setAttribute("role", "cell");
        td.dataset.name = names[i];
        td.textContent = text;
        if (className) td.className = className;
        tr.append(td);
      });
      body.append(tr);
    }
    if (rows.length === 0) {
      const td = document.createElement("td");
      td.colSpan = columns;
      td.className = "empty";
      td.append(document.createElement("span")); // which is not wider than the screen, although the table is
      td.firstChild.textContent = nothing;
      body.append(document.createElement("tr"));
      body.firstChild.append(td);
    }
    one(id).replaceChildren(body);
  };

  // bits shows fields in proportion to their widths, but so that each label can be read.
  const bits = (place, layout, contents) => {
    const fields = [["sign", 1], ["time", layout.time_bits], ["worker", layout.worker_bits], ["sequence", layout.sequence_bits]];
    place.replaceChildren(...fields.filter(([, width]) => width > 0).map(([name, width]) => {
      const e = document.createElement("div");
      e.className = name;
      e.style.flex = `${width} 1 0`;
      const small = document.createElement("small");
      small.textContent = { sign: "0", sequence: "seq" }[name] || name;
      e.append(small, contents(name, width));
      return e;
    }));
  };
  const textNode = (text) => document.createTextNode(text);
  const code = (text) => {
    const e = document.createElement("code");
    e.textContent = text;
    return e;
  };

  let layout = null, layoutText = "";
  const showLayout = (l) => {
    layout = l;
    if (layoutText === JSON.stringify(l)) return;
    layoutText = JSON.stringify(l);
    show("layout", l.text);
    bits(one("layout-bits"), l, (name, width) => textNode(name === "sign" ? "" : `${width} bits`));
    const unit = l.unit_nanoseconds / 1e9;
    show("epoch", instant(l.epoch));
    show("unit", unit >= 1 ? `${unit} s` : `${unit * 1000} ms`);
    show("per_unit", integer.format(2 ** l.sequence_bits));
    show("workers", integer.format(2 ** l.worker_bits));
  };

  const now = () => Date.now();
  // showGenerator shows the state of the generator. time is that of the server: the clock of this host may be wrong.
  const showGenerator = (g, time) => {
    const st = g.stats;
    showLayout(g.layout);
    show("issued", st.issued < 1e9 ? integer.format(st.issued) : compact.format(st.issued), st.issued);
    const level = st.ring?.fill_level ?? 0;
    show("fill", `${Math.round(level * 100)} %`, level);
    one("fill-meter").value = level;
    show("worker_id", String(st.worker_id), st.worker_id);
    show("workers_left", st.worker_ids_total > 0 ? `${whole(st.worker_ids_remaining)} of ${whole(st.worker_ids_total)}` : "used again", st.worker_ids_remaining);
    const extended = duration(Math.max(0, (time - Date.parse(g.lease_extended)) / 1000));
    show("store_state", !st.lease_bounded ? "is asked for new worker IDs only" : g.lease_low ? `has not answered for ${extended}` : `has extended the lease ${extended} ago`);
    cells.store_state.classList.toggle("bad", g.lease_low);
    show("lease_since", st.lease_since ? instant(st.lease_since) : "–");
    const left = (Date.parse(st.lease_until) - time) / 1000;
    show("lease_until", !st.lease_bounded ? "it has no end" : `${instant(st.lease_until)} (${left > 0 ? "in " + duration(left) : "ended"})`, st.lease_until || "");
    show("health_for", g.health.ok ? duration(g.health.for / 1e9) : "–");
    show("rollovers", integer.format(st.rollovers), st.rollovers);
    show("lost_leases", integer.format(st.lost_leases), st.lost_leases);
    show("ahead", st.ahead <= 0 ? "not ahead" : duration(st.ahead / 1e9) + (st.borrow_limit > 0 ? ` of at most ${duration(st.borrow_limit / 1e9)}` : ""), st.ahead);
    show("rejected_takes", integer.format(st.rejected_takes), st.rejected_takes);
    show("failed_paddings", integer.format(st.ring?.failed_paddings ?? 0), st.ring?.failed_paddings);
    const failure = g.health.err || st.ring?.last_error;
    show("last_error", failure || "none");
    for (const c of ["bad", "text"]) cells.last_error.classList.toggle(c, Boolean(failure));
    const rest = (Date.parse(st.end) - time) / 1000;
    show("end", instant(st.end) + (rest > 0 ? ` (in ${duration(rest)})` : ""), st.end);
  };

  // explain says below the header why the state is not as it should be.
  const explain = (why) => {
    const place = one("why");
    place.hidden = !why;
    if (place.textContent !== why) place.textContent = why;
  };

  let figuresOf = ""; // the time of the last state
  const showState = (s) => {
    figuresOf = s.time;
    const badge = one("state");
    const low = s.uid?.lease_low;
    const text = !s.ready ? "not ready" : low ? "ready, but the store does not answer" : "ready";
    if (badge.textContent !== text) badge.textContent = text; // so that it is announced once
    badge.className = "badge " + (!s.ready ? "bad" : low ? "warn" : "good");
    explain(!s.ready ? s.uid?.health.err || "The server is shutting down, or its tags have no numbers."
      : low ? "The store of worker IDs does not extend the lease. UIDs end when the time that is left without the store is used up." : "");
    one("about").textContent = [`version ${s.version}`, s.store, `up for ${duration((Date.parse(s.time) - Date.parse(s.started)) / 1000)}`].filter(Boolean).join(" · ");
    hasUID = Boolean(s.uid);
    hasRing = Boolean(s.uid?.stats.ring);
    hasTags = s.serves_tags;
    for (const e of document.querySelectorAll(".of-uid")) e.hidden = !hasUID;
    for (const e of document.querySelectorAll(".of-ring")) e.hidden = !hasRing;
    for (const e of document.querySelectorAll(".of-tags")) e.hidden = !hasTags;
    document.querySelector(".of-leases").hidden = !s.has_leases;
    if (s.uid) showGenerator(s.uid, Date.parse(s.time));
    show("requests", s.http.requests < 1e9 ? integer.format(s.http.requests) : compact.format(s.http.requests), s.http.requests);
    show("in_flight", integer.format(s.http.in_flight), s.http.in_flight);
    show("failures", integer.format(s.http.failures), s.http.failures);
    show("tag_count", s.tag_count > s.tags.length ? `${s.tags.length} of ${integer.format(s.tag_count)}` : "");
    fillTable("tags", s.tags.map((t) => [
      [t.tag, "text"], [whole(t.issued), "n"], [rate(t.rate), "n"], [whole(t.ring?.fill ?? 0), "n"], [whole(t.step), "n"], [whole(t.end), "n"], [t.last_error || "none", t.last_error ? "text bad" : "text"],
    ]), 7, "No tag is in memory. A tag appears at its first use.");
    fillTable("failures", s.failures.map((f) => [
      [instant(f.time)], [f.path], [String(f.status), "n"], [integer.format(f.count), "n"], [f.text, "text"], [f.request_id],
    ]), 6, "None.");
    if (s.has_leases && now() - leasesAt > 15_000) readLeases();
  };

  const showSample = (s) => {
    addSample(s);
    const last = samples.length - 1;
    for (const key of ["p50", "p99"]) {
      const v = samples[last][key];
      show(key, v === 0 ? "–" : v < 1 ? `${figure(v * 1000)} ms` : duration(v), v);
    }
    if (last > 0) {
      for (const [key, counter] of [["uid_rate", "issued"], ["number_rate", "numbers"], ["request_rate", "requests"]]) {
        const v = perSecond(counter, last);
        if (v !== null) show(key, rate(v), v);
      }
    }
    drawCharts();
  };

  // Requests.
  let token = sessionStorage.getItem("ringuid-token") || "";
  const request = (path, signal) => fetch(path, { headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store", signal });

  let leasesAt = 0;
  const readLeases = async () => {
    leasesAt = now();
    const resp = await request("/v1/leases").catch(() => null);
    const p = resp ? await resp.json().catch(() => ({})) : {};
    if (!resp || !resp.ok) {
      show("lease_count", "");
      return fillTable("leases", [], 6, p.detail || "The server does not answer.");
    }
    const storeTime = Date.parse(p.time);
    show("lease_count", `${integer.format(p.held)} held of ${integer.format(p.slots)}${p.complete ? "" : `, the first ${p.leases.length}`}, at ${clock(new Date(storeTime))} UTC`, p.held);
    fillTable("leases", p.leases.map((l) => {
      const left = (Date.parse(l.until) - storeTime) / 1000;
      return [[String(l.worker_id), "n"], [l.held ? (left > 0 ? "held" : "not extended") : "released"], [instant(l.until) + (left > 0 ? ` (in ${duration(left)})` : "")], [l.name], [l.host], [l.process]];
    }), 6, "No worker ID is held.");
  };

  one("parse").addEventListener("submit", async (event) => {
    event.preventDefault();
    const result = one("parse-result");
    const text = one("parse-id").value.trim();
    const fail = (why) => {
      const p = document.createElement("p");
      p.className = "error";
      p.textContent = why;
      result.replaceChildren(p);
    };
    const resp = await request("/v1/uid/" + encodeURIComponent(text)).catch(() => null);
    if (!resp) return fail("The server does not answer.");
    const p = await resp.json().catch(() => ({}));
    if (!resp.ok) return fail(p.detail || "The server does not answer.");
    const found = [];
    if (layout) found.push(picture(p)); // with a token that may not observe, the layout is not known
    const facts = document.createElement("dl");
    facts.className = "facts";
    for (const [name, value] of [["Time", instant(p.time)], ["Worker ID", whole(p.worker_id)], ["Sequence", whole(p.sequence)], ["Time units since the epoch", whole(p.delta)]]) {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      facts.append(dt, dd);
    }
    result.replaceChildren(...found, facts);
  });

  // picture returns the bits of a UID.
  const picture = (p) => {
    const all = BigInt(p.id).toString(2).padStart(63, "0").slice(-63);
    const total = layout.time_bits + layout.worker_bits + layout.sequence_bits;
    const used = all.slice(63 - total);
    const parts = { sign: "", time: used.slice(0, layout.time_bits), worker: used.slice(layout.time_bits, layout.time_bits + layout.worker_bits), sequence: used.slice(layout.time_bits + layout.worker_bits) };
    const place = document.createElement("div");
    place.className = "bits";
    bits(place, layout, (name) => code(parts[name]));
    return place;
  };

  const handle = (name, data) => {
    if (name === "history") {
      samples.length = 0;
      data.forEach(addSample);
    } else if (name === "state") {
      showState(data);
      showSample(data.sample);
    }
  };

  // A connection that breaks without an end, as when a host vanishes, is noticed by its silence: there is an event each second.
  const longestSilence = 10_000;

  let ended = ""; // why the last stream has ended

  // read reads events until the stream ends. It resolves to the status of the answer, or to 0.
  const read = async () => {
    const silence = new AbortController();
    let timer = 0;
    const restart = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), longestSilence);
    };
    restart();
    try {
      return await readEvents(silence.signal, restart);
    } catch {
      ended = silence.signal.aborted ? `Nothing has arrived for ${longestSilence / 1000} s.` : "The server does not answer, or the connection is broken.";
      return 0;
    } finally {
      clearTimeout(timer);
    }
  };
  const readEvents = async (signal, received) => {
    const resp = await request("/v1/events", signal);
    if (!resp.ok) {
      ended = `The server refuses: ${(await resp.json().catch(() => ({}))).detail || "status " + resp.status}.`;
      return resp.status;
    }
    ended = "The server has ended the connection.";
    one("login").hidden = true;
    const reader = resp.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return 200;
      received();
      text += value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const event = {};
        for (const l of text.slice(0, end).split("\n")) {
          const colon = l.indexOf(": ");
          event[l.slice(0, colon)] = l.slice(colon + 2);
        }
        try {
          handle(event.event, JSON.parse(event.data));
        } catch (e) {
          console.error(e); // not a reason to connect again
        }
      }
    }
  };

  let wake = () => {};
  const run = async () => {
    for (let pause = 1000; ; pause = Math.min(2 * pause, 15_000)) {
      const begin = now();
      const status = await read();
      if (now() - begin > 5000) pause = 1000;
      const badge = one("state");
      badge.className = "badge bad";
      if (figuresOf) one("about").textContent = "the figures are those of " + instant(figuresOf);
      if (status === 401 || status === 403) {
        badge.textContent = "locked";
        explain("");
        one("login").hidden = false;
        one("login-error").textContent = token ? (status === 401 ? "The server does not know this token." : "This token may not observe.") : "";
        await new Promise((resolve) => { wake = resolve; });
        continue;
      }
      badge.textContent = "not connected";
      explain(ended);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  one("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token = one("token").value;
    sessionStorage.setItem("ringuid-token", token);
    wake();
  });
  run();
})();
