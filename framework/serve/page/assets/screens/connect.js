// How a client is told of this server.
import { html } from '../vendor/preact.js';
import { useStore } from '../store.js';
import { copy } from '../view.js';

// desktop is where Claude Desktop keeps its configuration.
const desktop = {
  darwin: '~/Library/Application Support/Claude/claude_desktop_config.json',
  windows: '%APPDATA%\\Claude\\claude_desktop_config.json',
  linux: '~/.config/Claude/claude_desktop_config.json',
};

// quoted is a word for a shell.
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

// forms are the ways in which clients write a server down. url and command give the text.
function forms(name, a) {
  const url = a.carrier === 'HTTP' ? a.where : '', [command, ...args] = a.start ?? ['/absolute/path/of/the/program'];
  const shell = [command, ...args].map(quoted).join(' ');
  const entry = url ? { type: 'http', url } : { command, args };
  const servers = JSON.stringify({ mcpServers: { [name]: url ? { url } : { command, args } } }, null, 2);
  return [
    ['Claude Code', 'a shell', url ? `claude mcp add --transport http ${name} ${url}` : `claude mcp add ${name} -- ${shell}`],
    ['Claude Desktop', desktop[a.os] ?? desktop.linux, url ? 'Settings, Connectors, Add custom connector: ' + url : servers],
    ['Cursor', '~/.cursor/mcp.json', servers],
    ['VS Code', '.vscode/mcp.json', JSON.stringify({ servers: { [name]: entry } }, null, 2)],
    ['Codex', '~/.codex/config.toml', url ? `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}` : `[mcp_servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}`],
    ['Gemini CLI', '~/.gemini/settings.json', JSON.stringify({ mcpServers: { [name]: url ? { httpUrl: url } : { command, args } } }, null, 2)],
    ['A shell', 'this program', `kagami inspect ${url || (a.start ? '-- ' + shell : a.where)}`],
  ];
}

export function Connect() {
  const a = useStore().about;
  if (!a) return null;
  const name = (a.name || 'server').replace(/[^A-Za-z0-9_-]/g, '-');
  return html`<div class="pad"><h1>Connect a client</h1>
    ${a.carrier !== 'HTTP' && !a.start && html`<p class="lead q">A client starts the program itself, by its absolute path. Build the Go package first, with <span class="mono">go build -o</span>.</p>`}
    ${forms(name, a).map(([client, where, text]) => html`<section class="block"><div class="bh"><b>${client}</b><span>${where}</span><button class="btn t s end" onClick=${() => copy(text)}>Copy</button></div><pre class="code wrap" tabindex="0">${text}</pre></section>`)}</div>`;
}
