// For each line of its input, takes as many numbers with ringuid.mjs, one by one, and prints the last one, or the error.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [directory, url, timeout] = process.argv.slice(2);
const { Client } = await import(pathToFileURL(`${directory}/ringuid.mjs`));
const client = new Client(url, { token: "secret", timeout: Number(timeout) });
for await (const line of createInterface(process.stdin)) {
  try {
    let number;
    for (let left = Number(line); left > 0; left--) number = await client.next();
    console.log(String(number));
  } catch (error) {
    console.log(`error: ${error.message.replaceAll("\n", " ")}`);
  }
}
