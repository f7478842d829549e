// For each line of its input, takes as many numbers with ringuid.mjs, one by one, and prints the last one, or the error.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [directory, url, timeout, tag] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${directory}/ringuid.mjs`));
const uncached = globalThis.fetch, cache = new Map();
globalThis.fetch = async (url, options) => { // as in Next.js, which keeps the answers of all requests that do not forbid it
  if (options.cache === "no-store") return uncached(url, options);
  const [path] = url.split("?"); // sooner or later, all sizes come again
  if (!cache.has(path)) {
    const answer = await uncached(url, options);
    cache.set(path, [await answer.text(), { status: answer.status }]);
  }
  return new Response(...cache.get(path));
};
let client;
for await (const line of createInterface(process.stdin)) {
  try {
    client ??= new Client(url, { tag, token: "secret", timeout: Number(timeout) });
    let number;
    for (let left = Number(line); left > 0; left--) number = await client.next();
    console.log(String(number));
  } catch (error) {
    console.log(`error: ${error.message.replaceAll("\n", " ")}`);
  }
}
