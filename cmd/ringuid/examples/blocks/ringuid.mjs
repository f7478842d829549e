// UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them.
//
//   import { Client } from "./ringuid.mjs";
//   const client = new Client("http://127.0.0.1:8080");
//   const uid = await client.next(); // a BigInt
//
// Copy this file. It requires Node.js 18 and nothing else. If a running process is copied, as by CRIU, create another Client in each copy.
import http from "node:http";
import https from "node:https";

/**
 * Hands out the numbers of blocks, and fetches the next block before it is needed. Worker threads each have a Client of their own.
 *
 * url is the server's. With a tag, numbers are those of the tag, otherwise UIDs. A request asks for size numbers at most, which must not be more than
 * the server's setting max-batch, and for fewer if blocks expire before they are used up. token is a token of the server. A call that has no
 * number waits for timeout milliseconds at most, and then rejects with the last error.
 */
export class Client {
  #url;
  #start; // starts a request. Not fetch: that of Node.js 20 can lose a process's first one, and that of frameworks may have a cache
  #headers;
  #timeout;
  #size;
  #asked = 128; // how many numbers the last request asked for
  #next = 0n; // the number that is handed out next, of the block in use
  #stride = 1n;
  #left = 0; // how many there are
  #deadline = 0n; // by process.hrtime.bigint, which takes less time than performance.now
  #low = 0; // if fewer are left, the next block is fetched
  #block = null; // the next one
  #fetching = null; // a promise
  #pause = 0; // before the next request, in milliseconds
  #isRefused = false; // the last request that failed

  constructor(url, { tag, size = 8192, token, timeout = 10_000 } = {}) {
    if (tag === "." || tag === "..") throw new RangeError(`ringuid: the tag is ${tag}; a URL cannot have it`); // a request would be for UIDs
    const path = tag == null ? "/v1/block" : `/v1/segment/${encodeURIComponent(tag)}/block`;
    this.#url = `${url.replace(/\/$/, "")}${path}?n=`;
    this.#start = (/^https:/i.test(url) ? https : http).request;
    this.#headers = token ? { Authorization: `Bearer ${token.trim()}` } : {};
    this.#timeout = Math.min(timeout, 2 ** 31 - 1); // the longest of setTimeout
    this.#size = size;
  }

  /** Returns a number that nobody else has or will get: as a BigInt if there is one in memory, otherwise as a promise of one. Both can be awaited. */
  next() {
    return this.#take() ?? this.#wait();
  }

  // take returns a number, or null if there is none in memory.
  #take() {
    const now = process.hrtime.bigint();
    if ((this.#left <= 0 || now >= this.#deadline) && !this.#use(now)) return null;
    const number = this.#next;
    this.#next = number + this.#stride;
    if (--this.#left < this.#low && this.#block === null && this.#fetching === null) this.#fetch(2);
    return number;
  }

  // use drops what is left, and takes the next block into use, if it has not expired.
  #use(now) {
    const block = this.#block;
    this.#left = 0;
    this.#block = null;
    if (block === null || now >= block.deadline) return false;
    [this.#next, this.#stride, this.#left, this.#deadline, this.#low] = [block.first, block.stride, block.count, block.deadline, block.count / 2];
    return true;
  }

  async #wait() {
    let error, timer, isLate = false;
    const late = new Promise((resolve) => { timer = setTimeout(() => { isLate = true; resolve(); }, this.#timeout); });
    try {
      for (;;) {
        const number = this.#take();
        if (number !== null) return number;
        if (isLate || error?.isFinal) throw error ?? new Error(`ringuid: no number within ${this.#timeout} ms`);
        error = (await Promise.race([this.#fetch(0.5), late])) ?? error;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  // fetch fetches the next block, unless that is being done: with factor times as many numbers as the last one, because that is half used up, or
  // has expired. It never rejects: it returns a promise of the error, or of undefined.
  #fetch(factor) {
    this.#fetching ??= this.#request(factor)
      .then((block) => { [this.#block, this.#pause] = [block, 0]; }, (error) => { [this.#pause, this.#isRefused] = [Math.min(Math.max(2 * this.#pause, 50), 1000), error.isFinal]; return error; })
      .finally(() => { this.#fetching = null; });
    return this.#fetching;
  }

  // request sends a request: after a failure it pauses before it, so that calls do not flood the server. A block whose answer is lost is a gap.
  async #request(factor) {
    if (this.#pause > 0) factor = this.#isRefused ? 0.5 : 1; // after a failure
    this.#asked = Math.min(Math.max(Math.floor(factor * this.#asked), 2), this.#size);
    if (this.#pause > 0) await new Promise((resolve) => setTimeout(resolve, this.#pause));
    let sending, answer, text = "", sent = process.hrtime.bigint();
    const timer = setTimeout(() => (answer ?? sending).destroy(new Error(`ringuid: no answer within ${this.#timeout} ms`)), this.#timeout);
    try {
      answer = await new Promise((resolve, reject) => {
        sending = this.#start(this.#url + this.#asked, { method: "POST", headers: this.#headers }, resolve)
          .on("error", (error) => reject(error.errors?.[0] ?? error)).on("close", () => reject(new Error("ringuid: the connection has ended"))).end();
      });
      for await (const part of answer.setEncoding("utf8")) text += part;
    } finally {
      clearTimeout(timer);
    }
    if (answer.statusCode > 299) {
      const isFinal = answer.statusCode < 500 && ![408, 429].includes(answer.statusCode); // another request would get the same
      throw Object.assign(new Error(`ringuid: the server has answered ${answer.statusCode}: ${text.slice(0, 1000)}`), { isFinal });
    }
    const { first, count, stride = 1, expires_in: seconds = 1e9 } = JSON.parse(text);
    const block = { first: BigInt(first), count, stride: BigInt(stride), deadline: sent + BigInt(Math.floor(1e9 * seconds)) }; // from the request: the answer's way does not matter
    if (!(block.first > 0n && count > 0 && block.stride > 0n)) throw new Error(`ringuid: the server has answered ${text}`);
    if (process.hrtime.bigint() >= block.deadline) throw new Error(`ringuid: a block had expired when it arrived: ${text}`);
    return block;
  }
}
