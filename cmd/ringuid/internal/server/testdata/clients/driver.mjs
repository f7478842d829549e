// Takes numbers with ringuid.mjs in several asynchronous tasks, and prints them as runs: the first number, the stride, and how many.
// With 0 tasks, it prints instead how many nanoseconds it takes to take them.
import { pathToFileURL } from "node:url";

const [directory, url, tag, size, count, tasks] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${directory}/ringuid.mjs`));
const client = new Client(url, { tag: tag || undefined, size: Number(size), timeout: 300_000 });
const print = (first, n) => { if (n > 0n) process.stdout.write(`${first} 1 ${n}\n`); };
const take = async () => {
  let first = 0n, n = 0n;
  for (let left = Math.floor(count / tasks); left > 0; left--) {
    let number = client.next();
    if (typeof number !== "bigint") number = await number;
    if (number === first + n) {
      n++;
      continue;
    }
    print(first, n);
    [first, n] = [number, 1n];
    if (left % 1000 === 0) await null; // another task goes on
  }
  print(first, n);
};
await Promise.all(Array.from({ length: Number(tasks) }, take));
if (tasks === "0") {
  await client.next();
  const begin = process.hrtime.bigint();
  for (let left = Number(count); left > 0; left--) {
    const number = client.next();
    if (typeof number !== "bigint") await number;
  }
  console.log(`${process.hrtime.bigint() - begin}`);
}
