import fs from 'node:fs'
import { defineConfig } from 'vitepress'
import { markdown, slug } from './links.mjs'
import { sidebar } from './navigation.mjs'

const repository = 'https://github.com/kagami-mcp/kagami'

// pagesImportVue lets pages import Vue from this directory, because they have no node_modules above them.
const pagesImportVue = {
  name: 'pages-import-vue',
  enforce: 'pre',
  resolveId(id, importer) {
    if (/^vue($|\/)/.test(id) && importer?.endsWith('.md')) return this.resolve(id, import.meta.filename, { skipSelf: true })
  },
}

// The mark of the page in the browser, inside the HTML.
const mark = fs.readFileSync(new URL('../../../framework/serve/page/assets/mark.svg', import.meta.url), 'base64')

const home = process.env.SITE_BASE ?? '/'

// The pages are the Markdown files of docs/. Nothing is loaded from other hosts.
export default defineConfig({
  title: 'Kagami',
  description: 'A Go framework for MCP servers',
  lang: 'en',
  base: home,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: 'data:image/svg+xml;base64,' + mark }]],
  srcDir: '..',
  srcExclude: ['site/**', 'code/**', 'diagrams/**', 'lab/**'],
  outDir: './dist',
  cacheDir: './.vitepress/cache',
  rewrites: { 'README.md': 'index.md', 'adr/README.md': 'adr/index.md' },
  cleanUrls: false,
  metaChunk: true,
  markdown: { config: markdown(repository), anchor: { slugify: slug }, languageAlias: { caddyfile: 'nginx', haproxy: 'nginx' }, theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  vite: { plugins: [pagesImportVue] },
  themeConfig: {
    logoLink: '/',
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Configuration', link: '/config' },
      { text: 'API reference', link: 'https://pkg.go.dev/github.com/kagami-mcp/kagami/framework' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // What explains a subject comes before what compares it or decides about it.
        miniSearch: { searchOptions: { boostDocument: (id) => (/\/(adr\/|api|porting|performance|auth-rules|troubleshooting|messages)/.test(id) ? 0.3 : 1) } },
      },
    },
    editLink: { pattern: repository + '/edit/main/docs/:path', text: 'Edit this page on GitHub' },
    socialLinks: [{ icon: 'github', link: repository, ariaLabel: 'Kagami on GitHub' }],
    docFooter: { prev: 'Previous', next: 'Next' },
  },
})
