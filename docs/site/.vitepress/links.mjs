import fs from 'node:fs'
import path from 'node:path'
import { docs } from './navigation.mjs'

const root = path.dirname(docs)

// markdown returns a function that changes links and pictures of the pages for the site.
export const markdown = (repository) => (md) => {
  md.core.ruler.push('for-the-site', (state) => {
    for (const [i, token] of state.tokens.entries()) {
      if (token.type === 'th_open' && !state.tokens[i + 1].content) token.tag = state.tokens[i + 2].tag = 'td' // a header must have text
      for (const child of token.children ?? []) {
        if (child.type === 'link_open') child.attrSet('href', target(child.attrGet('href'), state.env, repository))
      }
    }
  })
  const image = md.renderer.rules.image
  md.renderer.rules.image = (tokens, i, options, env, self) => wrapped(image(tokens, i, options, env, self))
}

// slug returns the anchor of a heading, as GitHub makes it.
export const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

// target returns the address of a link. Links to files that are not pages of the site go to GitHub.
// It throws if such a file does not exist; VitePress checks the pages.
function target(href, env, repository) {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [name, anchor] = href.split('#')
  const from = path.dirname(env.realPath ?? env.path)
  const file = path.resolve(from, decodeURI(name))
  const inside = path.relative(docs, file)
  if (name.endsWith('.md') && !inside.startsWith('..')) return href.replace(/README\.md/, 'index.md') // see rewrites
  if (inside === 'adr') return path.relative(from, file) + '/index.md'
  if (!fs.existsSync(file)) throw new Error(`${env.path}: the link ${href} leads nowhere`)
  const kind = fs.statSync(file).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${path.relative(root, file)}` + (anchor ? '#' + anchor : '')
}

// wrapped makes a picture scroll in its own box on a narrow screen. It returns other images as they are.
function wrapped(html) {
  const source = html.match(/src="([^"]+\.svg)"/)
  return source ? `<span class="picture" tabindex="0" role="group" aria-label="Picture">${html}</span>` : html
}
