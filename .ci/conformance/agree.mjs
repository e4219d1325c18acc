// Runs the scenarios of the suite for authorization servers. One shows a URL and waits for the user
// who agrees: here that is this program.
//
//   node agree.mjs SUITE ISSUER RESOURCE PORT -o RESULTS
//
// It registers a client for the suite, follows the URL, sends the forms, and presses the last button,
// which is the one that agrees. The status is the suite's.

import { spawn } from "node:child_process";

const [suite, issuer, resource, port, ...rest] = process.argv.slice(2);

const registered = await fetch(`${issuer}/register`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ client_name: "The suite", redirect_uris: [`http://127.0.0.1:${port}/callback`], token_endpoint_auth_method: "none" }),
});
const { client_id: client } = await registered.json();

const child = spawn(process.execPath, [suite, "authorization", "--url", issuer, "--client-id", client, "--port", port, "--resource", resource, ...rest], {
  stdio: ["ignore", "pipe", "inherit"],
});
let said = "";
let followed = false;
child.stdout.on("data", (part) => {
  process.stdout.write(part);
  said += part;
  const [url] = said.match(/^http\S*\/authorize\?\S*$/m) ?? [];
  // The URL is printed before the port for the answer is open.
  if (!url || followed || !said.includes("Callback server started")) return;
  followed = true;
  follow(url).catch((err) => {
    console.error(err);
    child.kill();
  });
});
child.on("close", (code) => process.exit(code ?? 1));

// follow is a browser without a window.
async function follow(url) {
  const cookies = new Map();
  let request = { method: "GET" };
  for (let step = 0; step < 20; step++) {
    const at = new URL(url);
    const mine = at.origin === issuer;
    const headers = { ...request.headers, ...(mine && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") }) };
    const page = await fetch(url, { ...request, headers, redirect: "manual" });
    for (const line of page.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]*)=([^;]*)/);
      cookies.set(name, value);
    }
    const text = await page.text();
    const to = page.headers.get("location");
    if (to) {
      [url, request] = [new URL(to, url).href, { method: "GET" }];
      continue;
    }
    const [, action] = text.match(/<form method="post" action="([^"]*)"/) ?? [];
    if (!action) return;
    const form = new URLSearchParams();
    for (const [, name, value] of text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)) form.set(name, unescape(value));
    const [, name, value] = [...text.matchAll(/<button[^>]* name="([^"]*)" value="([^"]*)"/g)].at(-1);
    form.set(name, unescape(value));
    [url, request] = [new URL(action, url).href, { method: "POST", body: form, headers: { "sec-fetch-site": "same-origin" } }];
  }
}

function unescape(text) {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))).replace(/&amp;/g, "&");
}
