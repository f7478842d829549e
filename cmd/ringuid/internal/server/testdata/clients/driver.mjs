// Takes numbers with ringuid.mjs in several asynchronous tasks, and prints them as runs: the first number, the stride, and how many.
import { pathToFileURL } from "node:url";

const [directory, url, tag, size, count, tasks] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${directory}/ringuid.mjs`));
const client = new Client(url, { tag: tag || undefined, size: Number(size), timeout: 60_000 });
const runs = [];
const take = async () => {
  let first = 0n, n = 0n;
  for (let left = Math.floor(count / tasks); left > 0; left--) {
    let number = client.next();
    if (typeof number !== "bigint") number = await number;
    if (number === first + n) {
      n++;
      continue;
    }
    if (n > 0n) runs.push(`${first} 1 ${n}`);
    [first, n] = [number, 1n];
    if (left % 1000 === 0) await null; // another task goes on
  }
  if (n > 0n) runs.push(`${first} 1 ${n}`);
};
await Promise.all(Array.from({ length: Number(tasks) }, take));
console.log(runs.join("\n"));
