// Drawing a house. Both kinds share the view (pan, zoom, pinch), the search for the seat under a finger and the
// walk by arrow keys; SVG gives every seat an element of its own, canvas is for houses of thousands.

const shapes = {
  A: 'M-.4 0a.4 .4 0 1 0 .8 0a.4 .4 0 1 0 -.8 0',
  H: 'M-.34 0a.34 .34 0 1 0 .68 0a.34 .34 0 1 0 -.68 0',
  S: 'M-.25 -.25L.25 .25M.25 -.25L-.25 .25',
  O: 'M-.2 0H.2',
  M: 'M-.42 -.42H.42V.42H-.42Z'
}
const check = 'M-.22 0L-.05 .18L.24 -.18'
const diamond = 'M0 -.48L.48 0L0 .48L-.48 0Z'
const letters = { W: 'M-.2 -.14L-.1 .15L0 -.1L.1 .15L.2 -.14', C: 'M.12 -.12A.17 .17 0 1 0 .12 .12' }
const ring = 'M-.52 -.52H.52V.52H-.52Z'

// sign marks places for wheelchairs and the seats of those who come along.
const sign = s => s.accessible ? 'W' : s.companion ? 'C' : ''
const outline = (s, state) => sign(s) && (state === 'A' || state === 'H') ? diamond : shapes[state]

// inkOn is what can be read on a colour, #rrggbb.
function inkOn(color) {
  const n = parseInt(color.slice(1), 16)
  return 0.299 * (n >> 16) + 0.587 * (n >> 8 & 255) + 0.114 * (n & 255) > 140 ? '#000' : '#fff'
}

// layOut puts seats on a grid whose unit is the usual distance of neighbours.
function layOut(seats) {
  const gaps = []
  for (let i = 1; i < seats.length; i++) {
    if (seats[i].key !== seats[i - 1].key) continue
    const g = Math.hypot(seats[i].x - seats[i - 1].x, seats[i].y - seats[i - 1].y)
    if (g > 0) gaps.push(g)
  }
  gaps.sort((a, b) => a - b)
  const unit = gaps[gaps.length >> 1] || 1
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  let rising = 0
  seats.forEach((s, i) => {
    s.u = s.x / unit
    s.v = s.y / unit
    box.left = Math.min(box.left, s.u); box.right = Math.max(box.right, s.u)
    box.top = Math.min(box.top, s.v); box.bottom = Math.max(box.bottom, s.v)
    if (i && s.zone === seats[i - 1].zone && s.key !== seats[i - 1].key) rising += Math.sign(s.v - seats[i - 1].v)
  })
  box.stage = rising < 0 ? 'bottom' : 'top' // rows are told from the stage on
  return box
}

// grid finds seats near a point.
function grid(seats) {
  const cells = new Map(), key = (u, v) => Math.floor(u / 2) + ',' + Math.floor(v / 2)
  for (const s of seats) {
    const k = key(s.u, s.v)
    if (!cells.has(k)) cells.set(k, [])
    cells.get(k).push(s)
  }
  return (u, v, reach) => {
    let best = null, least = reach * reach
    for (let du = -2; du <= 2; du += 2) for (let dv = -2; dv <= 2; dv += 2) {
      for (const s of cells.get(key(u + du, v + dv)) || []) {
        const d = (s.u - u) * (s.u - u) + (s.v - v) * (s.v - v)
        if (d < least) { least = d; best = s }
      }
    }
    return best
  }
}

const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

// neighbour is the next seat in a direction: near, and not far off the line.
function neighbour(seats, from, way) {
  let best = null, least = Infinity
  for (const s of seats) {
    const du = s.u - from.u, dv = s.v - from.v
    const along = du * way[0] + dv * way[1], off = Math.abs(du * way[1]) + Math.abs(dv * way[0])
    if (along < 0.2) continue
    const cost = along + 3 * off
    if (cost < least) { least = cost; best = s }
  }
  return best
}

// View is the window on the house and everything that moves it.
class View {
  constructor(box, el, seats, box2, act) {
    this.el = el
    this.act = act
    this.find = grid(seats)
    const stage = 3.6, m = 1.1, most = 44 // pixels of a seat at first: a tiny house is no poster
    this.home = {
      x: box2.left - m - 0.8, y: box2.top - m - (box2.stage === 'top' ? stage : 0),
      w: box2.right - box2.left + 2 * m + 0.8, h: box2.bottom - box2.top + 2 * m + stage
    }
    const extra = box.clientWidth / most - this.home.w
    if (extra > 0) {
      this.home.x -= extra / 2
      this.home.w += extra
    }
    this.fit = () => { // a wide house needs no tall box
      const h = box.clientWidth * this.home.h / this.home.w
      box.style.height = Math.min(window.innerHeight * 0.62, Math.max(200, h)) + 'px'
    }
    this.fit()
    this.pointers = new Map()
    this.buttons(box)
    el.addEventListener('pointerdown', e => this.down(e))
    el.addEventListener('pointermove', e => this.move(e))
    el.addEventListener('pointerup', e => this.up(e))
    el.addEventListener('pointercancel', e => this.pointers.delete(e.pointerId))
    el.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey && !box.contains(document.activeElement)) return // scrolling the page stays possible
      e.preventDefault()
      this.zoom(e.deltaY < 0 ? 1.25 : 0.8, this.point(e))
    }, { passive: false })
    this.reset()
    addEventListener('resize', () => { this.fit(); this.change() })
  }
  buttons(box) {
    const bar = document.createElement('div')
    bar.className = 'zoom'
    const add = (text, name, fn) => {
      const b = document.createElement('button')
      b.type = 'button'
      b.className = 's'
      b.textContent = text
      b.setAttribute('aria-label', name)
      b.onclick = fn
      bar.append(b)
    }
    add('+', 'Zoom in', () => this.zoom(1.6))
    add('−', 'Zoom out', () => this.zoom(1 / 1.6))
    add('⤢', 'Whole house', () => this.reset())
    box.before(bar)
  }
  reset() {
    this.now = Object.assign({}, this.home)
    this.change()
  }
  // scale is how many pixels a seat has.
  scale() {
    const r = this.el.getBoundingClientRect()
    return Math.min(r.width / this.now.w, r.height / this.now.h) || 1
  }
  // small tells that a seat is no target for a finger.
  small() { return this.scale() < 18 }
  point(e) {
    const r = this.el.getBoundingClientRect(), k = this.scale()
    return {
      u: this.now.x + this.now.w / 2 + (e.clientX - r.left - r.width / 2) / k,
      v: this.now.y + this.now.h / 2 + (e.clientY - r.top - r.height / 2) / k
    }
  }
  zoom(by, at) {
    const n = this.now, w = Math.min(this.home.w, Math.max(4, this.el.clientWidth / 64, n.w / by))
    by = n.w / w
    at = at || { u: n.x + n.w / 2, v: n.y + n.h / 2 }
    this.now = { x: at.u - (at.u - n.x) / by, y: at.v - (at.v - n.y) / by, w, h: n.h / by }
    this.change()
  }
  // change keeps the window on the house and draws.
  change() {
    const n = this.now, h = this.home
    n.x = Math.min(h.x + h.w - n.w * 0.85, Math.max(h.x - n.w * 0.15, n.x))
    n.y = Math.min(h.y + h.h - n.h * 0.85, Math.max(h.y - n.h * 0.15, n.y))
    if (n.w >= h.w) { n.x = h.x; n.y = h.y }
    this.el.style.touchAction = n.w >= h.w ? 'pan-y' : 'none' // at first a finger scrolls the page
    this.act.draw(n)
  }
  // reveal moves the window so that a seat is well inside.
  reveal(s) {
    const n = this.now
    if (s.u > n.x + 1 && s.u < n.x + n.w - 1 && s.v > n.y + 1 && s.v < n.y + n.h - 1) return
    n.x = s.u - n.w / 2
    n.y = s.v - n.h / 2
    this.change()
  }
  down(e) {
    this.pointers.set(e.pointerId, e)
    this.far = this.pointers.size > 1
    try { this.el.setPointerCapture(e.pointerId) } catch (err) { /* gone already */ }
    this.first = e
  }
  move(e) {
    const was = this.pointers.get(e.pointerId)
    if (!was) {
      const s = e.pointerType === 'mouse' && this.hit(e)
      this.el.style.cursor = s ? 'pointer' : ''
      return this.act.hover(s)
    }
    const k = this.scale()
    if (this.pointers.size === 1) {
      if (!this.far && Math.hypot(e.clientX - this.first.clientX, e.clientY - this.first.clientY) < 7) return
      this.far = true
      this.now.x -= (e.clientX - was.clientX) / k
      this.now.y -= (e.clientY - was.clientY) / k
    } else {
      const other = [...this.pointers.values()].find(p => p.pointerId !== e.pointerId)
      const d = (a, b) => Math.max(10, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY))
      this.pointers.set(e.pointerId, e)
      return this.zoom(d(e, other) / d(was, other), this.point({ clientX: (e.clientX + other.clientX) / 2, clientY: (e.clientY + other.clientY) / 2 }))
    }
    this.pointers.set(e.pointerId, e)
    this.change()
  }
  up(e) {
    const tap = this.pointers.delete(e.pointerId) && !this.far && this.pointers.size === 0
    if (!tap) return
    if (e.pointerType === 'touch' && this.small() && this.now.w > 8) return this.zoom(Math.max(1.8, 30 / this.scale()), this.point(e))
    const s = this.hit(e)
    if (s) this.act.tap(s)
  }
  hit(e) {
    const p = this.point(e)
    return this.find(p.u, p.v, Math.min(1.5, Math.max(0.6, 10 / this.scale())))
  }
}

function keys(el, seats, view, at, go, toggle) {
  el.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return
    const way = ways[e.key]
    if (way) {
      const s = neighbour(seats, at(), way)
      if (s) go(s)
      el.scrollIntoView({ block: 'nearest' }) // the bar below must not cover it
    } else if (e.key === ' ' || e.key === 'Enter') toggle(at())
    else if (e.key === '+' || e.key === '=') view.zoom(1.6)
    else if (e.key === '-') view.zoom(1 / 1.6)
    else return
    e.preventDefault()
  })
}

const firstFree = (seats, state) => seats.find(s => state(s) === 'M') || seats.find(s => state(s) === 'A') || seats[0]

// signs are the names of rows and zones, and the stage.
function signs(seats, box) {
  const rows = new Map(), zones = new Map()
  for (const s of seats) {
    const r = rows.get(s.key)
    if (!r || s.u < r.u) rows.set(s.key, s)
    const z = zones.get(s.zone) || { left: s.u, right: s.u, top: s.v }
    zones.set(s.zone, { left: Math.min(z.left, s.u), right: Math.max(z.right, s.u), top: Math.min(z.top, s.v) })
  }
  const list = []
  if (rows.size <= 400) rows.forEach(s => list.push({ text: s.row, u: s.u - 1.1, v: s.v + 0.2, size: 0.6 }))
  if (zones.size > 1) zones.forEach((z, name) => list.push({ text: name, u: (z.left + z.right) / 2, v: z.top - 0.8, size: 0.8 }))
  const width = box.right - box.left + 1, mid = (box.left + box.right) / 2, half = Math.max(2, width * 0.32)
  const y = box.stage === 'top' ? box.top - 3.4 : box.bottom + 3.4, dy = box.stage === 'top' ? 1.5 : -1.5
  return {
    list, stageText: { text: 'Stage', u: mid, v: y + dy * 0.5 + 0.25, size: 0.8 },
    stage: 'M' + (mid - half) + ' ' + y + 'H' + (mid + half) + 'L' + (mid + half * 0.86) + ' ' + (y + dy) + 'H' + (mid - half * 0.86) + 'Z'
  }
}

function node(name, attributes) {
  const n = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const k in attributes) n.setAttribute(k, attributes[k])
  return n
}

// drawSVG gives every seat an element: checkboxes in a group, one of them in the tab order.
export function drawSVG(box, seats, act) {
  const house = layOut(seats), marks = signs(seats, house)
  const svg = node('svg', { role: 'group', 'aria-label': 'Map of the house. Arrow keys move from seat to seat, space chooses.', preserveAspectRatio: 'xMidYMid meet' })
  svg.append(node('path', { class: 'stage', d: marks.stage }))
  for (const m of marks.list.concat(marks.stageText)) {
    const t = node('text', { x: m.u, y: m.v, 'aria-hidden': 'true' })
    t.style.fontSize = m.size + 'px'
    t.textContent = m.text
    svg.append(t)
  }
  const els = seats.map(s => {
    const g = node('g', { role: 'checkbox', tabindex: '-1', transform: 'translate(' + s.u + ' ' + s.v + ')' })
    g.append(node('path', {}))
    svg.append(g)
    return g
  })
  const focusRing = node('path', { class: 'ring', d: ring, visibility: 'hidden' })
  svg.append(focusRing)
  box.append(svg)
  document.getElementById('at').removeAttribute('aria-live') // the focused seat is read already

  function show(s) {
    const g = els[s.i], state = act.state(s), p = g.firstChild
    p.setAttribute('class', 'seat ' + state)
    p.setAttribute('d', outline(s, state))
    if (state === 'A') p.setAttribute('fill', s.color)
    else p.removeAttribute('fill')
    if (g.childNodes.length > 1) g.lastChild.remove()
    if (state === 'M') g.append(node('path', { d: check }))
    else if (state === 'A' && sign(s)) g.append(node('path', { class: 'sign', d: letters[sign(s)], stroke: inkOn(s.color) }))
    g.setAttribute('aria-checked', state === 'M')
    g.setAttribute('aria-label', act.label(s))
    if (state === 'A' || state === 'M') g.removeAttribute('aria-disabled')
    else g.setAttribute('aria-disabled', 'true')
  }
  seats.forEach(show)

  let here = firstFree(seats, act.state)
  els[here.i].setAttribute('tabindex', '0')
  const view = new View(box, svg, seats, house, {
    draw: v => svg.setAttribute('viewBox', [v.x, v.y, v.w, v.h].join(' ')),
    hover: s => act.at(s ? s.zone + ', ' + act.label(s) : ''),
    tap: s => { walk(s); els[s.i].focus({ preventScroll: true }); act.toggle(s); act.at(act.label(s)) }
  })
  function walk(s) {
    els[here.i].setAttribute('tabindex', '-1')
    here = s
    els[s.i].setAttribute('tabindex', '0')
  }
  svg.addEventListener('focusin', e => {
    const i = els.indexOf(e.target)
    if (i < 0) return
    walk(seats[i])
    view.reveal(here)
    focusRing.setAttribute('transform', 'translate(' + here.u + ' ' + here.v + ')')
    focusRing.setAttribute('visibility', 'visible')
    act.at(here.zone + ', ' + act.label(here))
  })
  svg.addEventListener('focusout', () => focusRing.setAttribute('visibility', 'hidden'))
  keys(svg, seats, view, () => here, s => { walk(s); els[s.i].focus({ preventScroll: true }) }, s => { act.toggle(s); act.at(act.label(s)) })
  return { show, small: view.small() }
}

// drawCanvas paints; the seat under the cursor is told in a live region.
export function drawCanvas(box, seats, act) {
  const house = layOut(seats), marks = signs(seats, house)
  const canvas = document.createElement('canvas'), ctx = canvas.getContext('2d')
  canvas.tabIndex = 0
  canvas.setAttribute('role', 'application')
  canvas.setAttribute('aria-label', 'Map of the house. Arrow keys move from seat to seat, space chooses. The list below says the same.')
  box.append(canvas)
  const paths = {}
  for (const d of [...Object.values(shapes), ...Object.values(letters), diamond]) paths[d] = new Path2D(d)
  const checkPath = new Path2D(check), ringPath = new Path2D(ring), stagePath = new Path2D(marks.stage)
  let here = firstFree(seats, act.state), win, waiting = false

  function paint() {
    waiting = false
    const r = canvas.getBoundingClientRect(), dpr = window.devicePixelRatio || 1
    if (!r.width) return
    const css = getComputedStyle(box), color = n => css.getPropertyValue(n).trim()
    if (canvas.width !== Math.round(r.width * dpr) || canvas.height !== Math.round(r.height * dpr)) {
      canvas.width = Math.round(r.width * dpr)
      canvas.height = Math.round(r.height * dpr)
    }
    const k = Math.min(r.width / win.w, r.height / win.h) * dpr
    const ox = canvas.width / 2 - (win.x + win.w / 2) * k, oy = canvas.height / 2 - (win.y + win.h / 2) * k
    ctx.setTransform(1, 0, 0, 1, 0, 0)
    ctx.clearRect(0, 0, canvas.width, canvas.height)
    ctx.setTransform(k, 0, 0, k, ox, oy)
    ctx.fillStyle = color('--rule')
    ctx.fill(stagePath)
    ctx.fillStyle = color('--mut')
    ctx.textAlign = 'center'
    for (const m of marks.list.concat(marks.stageText)) {
      if (m.size * k < 7 * dpr && m.size < 0.7) continue
      ctx.font = m.size + 'px system-ui, sans-serif'
      ctx.fillText(m.text, m.u, m.v)
    }
    const ink = color('--ink'), mut = color('--mut'), edge = color('--edge'), card = color('--card'), link = color('--link')
    const left = -ox / k - 1, right = (canvas.width - ox) / k + 1, top = -oy / k - 1, bottom = (canvas.height - oy) / k + 1
    const small = k < 5 * dpr
    for (const s of seats) {
      if (s.u < left || s.u > right || s.v < top || s.v > bottom) continue
      const state = act.state(s), path = paths[outline(s, state)]
      if (small) {
        ctx.fillStyle = state === 'A' ? s.color : state === 'M' ? ink : edge
        const d = state === 'A' ? 0.8 : state === 'M' ? 1.6 : 0.3
        ctx.fillRect(s.u - d / 2, s.v - d / 2, d, d)
        continue
      }
      ctx.setTransform(k, 0, 0, k, ox + s.u * k, oy + s.v * k)
      ctx.setLineDash(state === 'H' ? [0.16, 0.12] : [])
      ctx.lineWidth = state === 'A' ? 0.05 : 0.11
      ctx.strokeStyle = state === 'A' ? ink : state === 'H' ? mut : edge
      if (state === 'A' || state === 'M') {
        ctx.fillStyle = state === 'A' ? s.color : ink
        ctx.fill(path)
      }
      if (state !== 'M') ctx.stroke(path)
      if (state === 'A' && sign(s)) {
        ctx.strokeStyle = inkOn(s.color)
        ctx.lineWidth = 0.09
        ctx.stroke(paths[letters[sign(s)]])
      }
      if (state === 'M') {
        ctx.strokeStyle = card
        ctx.lineWidth = 0.14
        ctx.stroke(checkPath)
      }
    }
    ctx.setLineDash([])
    if (document.activeElement === canvas) {
      ctx.setTransform(k, 0, 0, k, ox + here.u * k, oy + here.v * k)
      ctx.strokeStyle = link
      ctx.lineWidth = 0.14
      ctx.stroke(ringPath)
    }
  }
  function soon() {
    if (waiting) return
    waiting = true
    requestAnimationFrame(paint)
  }
  const tell = s => act.at(s ? s.zone + ', ' + act.label(s) : '')
  const view = new View(box, canvas, seats, house, {
    draw: v => { win = v; soon() },
    hover: s => { if (s) tell(s) },
    tap: s => { here = s; canvas.focus({ preventScroll: true }); act.toggle(s); tell(s) }
  })
  canvas.addEventListener('focus', () => { tell(here); soon() })
  canvas.addEventListener('blur', soon)
  if (window.matchMedia) {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    if (dark.addEventListener) dark.addEventListener('change', soon)
  }
  keys(canvas, seats, view, () => here, s => { here = s; view.reveal(s); tell(s); soon() }, s => { act.toggle(s); tell(s) })
  return { show: soon, small: view.small() }
}
