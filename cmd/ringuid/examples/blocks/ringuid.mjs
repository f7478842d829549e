// UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them.
//
//   import { Client } from "./ringuid.mjs";
//   const client = new Client("http://127.0.0.1:8080");
//   const uid = await client.next(); // a BigInt
//
// Copy this file. It requires Node.js 18 and nothing else.

/**
 * Hands out the numbers of blocks, and fetches the next block before it is needed. Worker threads each have a Client of their own.
 *
 * url is the server's. With a tag, numbers are those of the tag, otherwise UIDs. size is how many numbers a request asks for: the server's setting
 * max-batch at most. token is a token of the server. A call that has no number waits for timeout milliseconds at most, and then rejects
 * with the last error.
 */
export class Client {
  #url;
  #headers;
  #timeout;
  #next = 0n; // the number that is handed out next, of the block in use
  #stride = 1n;
  #left = 0; // how many there are
  #deadline = 0; // by performance.now
  #low = 0; // if fewer are left, the next block is fetched
  #block = null; // the next one
  #fetching = null; // a promise

  constructor(url, { tag, size = 8192, token, timeout = 5000 } = {}) {
    const path = tag === undefined ? "/v1/block" : `/v1/segment/${encodeURIComponent(tag)}/block`;
    this.#url = `${url.replace(/\/$/, "")}${path}?n=${size}`;
    this.#headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.#timeout = timeout;
  }

  /** Returns a number that nobody else has or will get: as a BigInt if there is one in memory, otherwise as a promise of one. Both can be awaited. */
  next() {
    if (this.#left > 0 && performance.now() < this.#deadline) {
      const number = this.#next;
      this.#next = number + this.#stride;
      if (--this.#left < this.#low && this.#block === null && this.#fetching === null) this.#fetch().catch(() => {}); // a call that has to wait gets the error
      return number;
    }
    return this.#wait();
  }

  async #wait() {
    const end = performance.now() + this.#timeout;
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      if (this.#use()) return this.next();
      try {
        await this.#fetch();
      } catch (error) {
        if (error.isFinal || performance.now() + pause >= end) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  // use drops what is left, unless another call has taken a block into use meanwhile, and takes the next block into use, if it has not expired.
  #use() {
    const now = performance.now();
    if (this.#left > 0 && now < this.#deadline) return true;
    const block = this.#block;
    this.#left = 0;
    this.#block = null;
    if (block === null || now >= block.deadline) return false;
    [this.#next, this.#stride, this.#left, this.#deadline, this.#low] = [block.first, block.stride, block.count, block.deadline, block.count / 2];
    return true;
  }

  // fetch requests a block, unless there is a request. A block whose answer is lost is a gap.
  #fetch() {
    this.#fetching ??= this.#request().then((block) => { this.#block = block; }).finally(() => { this.#fetching = null; });
    return this.#fetching;
  }

  async #request() {
    const sent = performance.now(), abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error(`ringuid: no answer within ${this.#timeout} ms`)), this.#timeout); // also keeps Node.js running
    let answer, text;
    try {
      answer = await fetch(this.#url, { method: "POST", headers: this.#headers, signal: abort.signal });
      text = await answer.text();
    } finally {
      clearTimeout(timer);
    }
    if (!answer.ok) {
      const error = new Error(`ringuid: the server has answered ${answer.status}: ${text.slice(0, 1000)}`);
      error.isFinal = answer.status < 500 && answer.status !== 429; // another request would get the same
      throw error;
    }
    const { first, count, stride = 1, expires_in: seconds = Infinity } = JSON.parse(text);
    const block = { first: BigInt(first), count, stride: BigInt(stride), deadline: sent + 1000 * seconds }; // from the request: the answer's way does not matter
    if (!(block.first > 0n && count > 0 && block.stride > 0n && seconds > 0)) throw new Error(`ringuid: the server has answered ${text}`);
    return block;
  }
}
