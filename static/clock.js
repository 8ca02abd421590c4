// Time that is left, on a clock that nobody can set: the server says how long, performance.now() counts.

export function left(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60)
  const two = n => ('0' + n).slice(-2)
  return (h ? h + ':' + two(m % 60) : m) + ':' + two(s % 60)
}

// Countdown shows what is left in el and calls over once, at the end. set moves the end.
export class Countdown {
  constructor(el, ms, over) {
    this.el = el
    this.over = over
    this.set(ms)
    this.timer = setInterval(() => this.draw(), 1000)
  }
  set(ms) {
    this.end = performance.now() + ms
    this.draw()
  }
  draw() {
    const ms = this.end - performance.now()
    const text = left(ms)
    if (this.el.textContent !== text) this.el.textContent = text
    if (ms > 0 || this.done) return
    this.done = true
    clearInterval(this.timer)
    this.over()
  }
}

// ask gives the JSON of an answer of Foyer's, or throws.
export async function ask(path) {
  // A request that hangs must be ended: browsers let the next one for the same address wait for it.
  const stop = window.AbortController ? new AbortController() : null
  if (stop) setTimeout(() => stop.abort(), 10000)
  const r = await fetch(path, { credentials: 'same-origin', signal: stop ? stop.signal : undefined })
  if (!/json/.test(r.headers.get('Content-Type'))) throw new Error('no answer of Foyer')
  const body = await r.json()
  if (!r.ok) throw Object.assign(new Error(body.detail), { code: body.code, status: r.status })
  return body
}
