// The page with a return code: copies the link, and looks whether it is the visitor's turn.
import { ask } from './clock.js'

const $ = i => document.getElementById(i), place = $('place'), link = $('link'), note = document.querySelector('[autofocus]')
const E = '/events/' + place.dataset.event, to = place.dataset.return
let fails = 0

$('back').href = E + (to && '?return=' + encodeURIComponent(to))
if (note) note.focus()

async function look() {
  let next = 5000
  try {
    const p = await ask('/api/v1' + E + '/queue')
    fails = 0
    if (p.status !== place.dataset.status) return location.reload()
    next = p.pollAfterMillis || next
  } catch (e) {
    next = Math.min(20000, 1000 * Math.pow(2, ++fails)) * (0.5 + Math.random())
  }
  setTimeout(look, next)
}

if (link) {
  const copy = $('copy')
  link.onfocus = () => link.select()
  copy.hidden = !navigator.clipboard
  copy.onclick = async () => {
    await navigator.clipboard.writeText(link.value)
    copy.textContent = 'Copied'
  }
  setTimeout(look, 2000)
}

// A page that comes back from the browser's memory may show a code that was used.
addEventListener('pageshow', e => { if (e.persisted) location.reload() })
