// Takes UIDs with Node's standard library, and a number of a tag if one is named.
// Usage: node client.mjs http://127.0.0.1:8080 [TOKEN [TAG]]; without a token: ''
import http from "node:http";
import https from "node:https";

const [url, token, tag] = process.argv.slice(2);
const agent = new (url.startsWith("https:") ? https : http).Agent({ keepAlive: true });

// get returns the answer for a path as an object. It sends the request a second time if the server has closed the connection,
// which was idle. A UID that is lost is a gap.
const get = (path, isSecond = false) => new Promise((resolve, reject) => {
  const headers = token ? { Authorization: `Bearer ${token.trim()}` } : {};
  const request = (url.startsWith("https:") ? https : http).get(url + path, { agent, headers, timeout: 10_000 }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (part) => (text += part));
    response.on("error", reject);
    response.on("end", () => {
      try {
        const body = JSON.parse(text);
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${response.statusCode}: ${body.detail} (request ${body.request_id})`));
      } catch (error) {
        reject(error); // a proxy has answered
      }
    });
  });
  request.on("timeout", () => request.destroy(new Error("no answer within 10 s")));
  request.on("error", (error) => {
    if (request.reusedSocket && error.code === "ECONNRESET" && !isSecond) resolve(get(path, true));
    else reject(error);
  });
});

// IDs are strings, because Number rounds integers beyond 2^53. BigInt has all digits.
const { id } = await get("/v1/uid");
console.log(BigInt(id));
const { ids } = await get("/v1/uid?n=3");
console.log(ids);
if (tag) {
  const order = await get(`/v1/segment/${encodeURIComponent(tag)}`);
  console.log(order.id);
}
agent.destroy();
