// Starts oidc-provider for the tests of logins: node issuer.mjs RESOURCE SECONDS
// Access tokens are valid for SECONDS.
// It prints its issuer on a line of its own. A line on stdin is a command:
//   refuse      clients can no longer register
//   down, up    token requests are answered with 503, or are served again
//   gone        all requests are answered with 503, until "up"
import http from "node:http";
import readline from "node:readline";
import Provider from "oidc-provider";

const [resource, seconds] = process.argv.slice(2);
const server = http.createServer().listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  let refuses = false;
  let down = false;
  let gone = false;
  const provider = new Provider(issuer, {
    cookies: { keys: ["a test"] },
    scopes: ["openid", "offline_access", "shop"],
    clients: [{ client_id: "robot", client_secret: "s3cret and more", grant_types: ["client_credentials"], response_types: [], redirect_uris: [], scope: "shop" }],
    clientDefaults: { grant_types: ["authorization_code", "refresh_token"] },
    rotateRefreshToken: true,
    issueRefreshToken: async (ctx, client) => client.grantTypeAllowed("refresh_token"),
    ttl: { AccessToken: Number(seconds), RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 600, ClientCredentials: 600 },
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: "shop offline_access", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: Number(seconds), jwt: { sign: { alg: "RS256" } } }),
      },
    },
  });
  const serve = provider.callback();
  server.on("request", (req, res) => {
    if (gone || (down && req.url.startsWith("/token")) || (refuses && req.url.startsWith("/reg"))) {
      const away = gone || down;
      res.writeHead(away ? 503 : 403, { "Content-Type": "application/json" }).end(`{"error":"${away ? "temporarily_unavailable" : "access_denied"}"}`);
      return;
    }
    serve(req, res);
  });
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    if (line === "refuse") refuses = true;
    if (line === "down") down = true;
    if (line === "gone") gone = true;
    if (line === "up") down = gone = false;
    console.log("done");
  }).on("close", () => process.exit(0));
  console.log(issuer);
});
