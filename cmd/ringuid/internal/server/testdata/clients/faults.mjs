// For each line of its input, takes as many numbers with ringuid.mjs, one by one, and prints the last one, or the error.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [directory, url, timeout, tag] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${directory}/ringuid.mjs`));
let client;
for await (const line of createInterface(process.stdin)) {
  try {
    client ??= new Client(url, { tag, token: "secret\n", timeout: Number(timeout) });
    let number;
    for (let left = Number(line); left > 0; left--) number = await client.next();
    console.log(String(number));
  } catch (error) {
    console.log(`error: ${error.message.replaceAll("\n", " ")}`);
  }
}
