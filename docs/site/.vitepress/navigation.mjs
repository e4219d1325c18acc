import fs from 'node:fs'
import path from 'node:path'

// groups has the guides in reading order. A guide that is not listed here fails the build.
const groups = [
  ['Start', ['start']],
  ['Write a server', ['tools', 'validation', 'resources', 'prompts', 'asking', 'tasks']],
  ['Serve it', ['http', 'deploy', 'clients', 'cli', 'apps']],
  ['Around the calls', ['middleware', 'auth', 'authserver', 'login', 'auth-rules', 'fx', 'files']],
  ['Test and call', ['testing', 'client', 'page']],
  ['Look up', ['config', 'api', 'troubleshooting', 'messages', 'porting', 'performance']],
  ['Inside', ['extending', 'architecture', 'glossary']],
]

// outside are Markdown files that do not belong to a group.
const outside = ['README']

const docs = path.resolve(import.meta.dirname, '../..')
const file = (page) => path.join(docs, page + '.md')

// heading returns the text of a page's first heading.
function heading(page) {
  const found = fs.readFileSync(file(page), 'utf8').match(/^# (.+)$/m)
  if (!found) throw new Error(`docs/${page}.md has no heading`)
  return found[1].replaceAll('`', '')
}

const item = (page) => ({ text: heading(page), link: '/' + page })

// check fails if a listed guide does not exist, or an existing guide is not listed.
function check() {
  const listed = groups.flatMap(([, pages]) => pages)
  const missing = [...listed, 'README'].filter((page) => !fs.existsSync(file(page)))
  if (missing.length) throw new Error(`the navigation has pages that do not exist: ${missing.join(', ')}`)
  const all = fs.readdirSync(docs).filter((name) => name.endsWith('.md')).map((name) => name.slice(0, -3))
  const unlisted = all.filter((page) => !listed.includes(page) && !outside.includes(page))
  if (unlisted.length) throw new Error(`docs/site/.vitepress/navigation.mjs does not have: ${unlisted.join(', ')}`)
}

// decisions returns the pages of docs/adr, beginning with their list.
function decisions() {
  const all = fs.readdirSync(path.join(docs, 'adr')).filter((name) => /^\d{4}-.*\.md$/.test(name)).sort()
  const items = all.map((name) => item('adr/' + name.slice(0, -3)))
  return [{ text: 'All decisions', link: '/adr/' }, ...items]
}

// sidebar returns the navigation of the guides and of the decisions. Previous and Next follow it.
export function sidebar() {
  check()
  const guides = groups.map(([text, pages]) => ({ text, items: pages.map(item) }))
  const adr = decisions()
  guides.at(-1).items.push({ text: 'Decisions', link: adr[0].link })
  return { '/adr/': [{ text: 'Guides', link: '/start' }, { text: 'Decisions', items: adr }], '/': guides }
}

export { docs }
