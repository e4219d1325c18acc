// The default theme without its web font: pages use the fonts of the system.
import Theme from 'vitepress/theme-without-fonts'
import './style.css'

export default Theme
