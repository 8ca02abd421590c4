// Live numbers for staff: one stream for each event on the page, closed while nobody looks.
import { money } from './money.js'

const boxes = [...document.querySelectorAll('[data-live]')].slice(0, 4) // browsers open six connections to a host at most
const link = document.getElementById('link')

function put(box, name, text) {
  const el = box.querySelector('[data-n=' + name + ']')
  if (el && el.textContent !== String(text)) el.textContent = text
  return el
}

function show(box, live) {
  put(box, 'waiting', live.waiting)
  put(box, 'active', live.active)
  put(box, 'available', live.counts.available)
  put(box, 'held', live.counts.held)
  put(box, 'sold', live.counts.sold)
  const slowed = document.querySelector('[data-n=slowed]')
  if (slowed) {
    slowed.hidden = !live.paceReason
    put(slowed, 'pace', live.pace)
    put(slowed, 'paceReason', live.paceReason || '')
  }
  put(box, 'taken', money(JSON.parse(box.dataset.money), live.taken.amount))
  put(box, 'phase', live.badge).className = 'tag ' + live.phase
}

for (const box of boxes) {
  let stream, retry
  const open = () => {
    clearTimeout(retry)
    if (stream || document.hidden) return
    stream = new EventSource('/api/v1/admin/events/' + box.dataset.live + '/live')
    const read = e => {
      if (link) link.textContent = ''
      show(box, JSON.parse(e.data))
    }
    stream.onmessage = read
    stream.addEventListener('live', read)
    stream.onerror = () => {
      if (link) link.textContent = 'reconnecting…'
      if (stream.readyState !== EventSource.CLOSED) return // it tries again by itself
      stream = null
      retry = setTimeout(open, 3000 + Math.random() * 4000)
    }
  }
  const close = () => {
    clearTimeout(retry)
    if (stream) stream.close()
    stream = null
  }
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open())
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  open()
}
