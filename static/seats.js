// The seat map: draws the house, keeps map, list and tray in step, and follows what others take.
// The list is a form that works alone; everything here only adds to it.
import { Countdown, ask } from './clock.js'
import { drawSVG, drawCanvas } from './map.js'
import { money } from './money.js'

const $ = id => document.getElementById(id)
const form = $('choose'), conf = form.dataset
const most = +conf.max, prices = JSON.parse(conf.prices) || {}, mine = new Set(JSON.parse(conf.mine) || [])
const style = JSON.parse(conf.money)
const memory = 'chosen ' + conf.event
const changed = 'The house was changed. Please load this page again.'
const words = { A: 'free', H: 'held', S: 'sold', O: 'not on sale' }
const inputs = new Map()
const chosen = new Set()
let seats = [], byID = new Map(), states = '', map, fails = 0

// state is what is drawn: M is chosen by this visitor.
function state(seat) {
  if (chosen.has(seat.id)) return 'M'
  return mine.has(seat.id) ? 'A' : states[seat.i] || 'O'
}
function word(seat) {
  const own = mine.has(seat.id)
  if (chosen.has(seat.id)) return own ? 'yours' : 'chosen'
  return own ? 'yours, not chosen' : words[state(seat)]
}
function label(seat) {
  return 'Row ' + seat.row + ', seat ' + seat.number + (seat.accessible ? ', wheelchair place' : '') + (seat.companion ? ', companion seat' : '') +
    ', ' + seat.category + (seat.price === undefined ? '' : ', ' + money(style, seat.price)) + ', ' + word(seat)
}

function say(text) {
  $('say').textContent = text
  $('say').hidden = !text
}
function trouble(text) {
  const box = $('trouble'), p = document.createElement('p'), ok = document.createElement('button')
  p.textContent = text
  ok.textContent = 'Understood'
  ok.className = 'q s'
  ok.type = 'button'
  ok.onclick = () => { box.hidden = true; $('hold').focus() }
  box.replaceChildren ? box.replaceChildren(p, ok) : (box.textContent = text)
  box.hidden = false
  box.focus()
}

function toggle(seat) {
  say('')
  if (chosen.has(seat.id)) chosen.delete(seat.id)
  else if (state(seat) !== 'A') say('Row ' + seat.row + ', seat ' + seat.number + ' is ' + word(seat) + '.')
  else if (chosen.size >= most) say('One order may have at most ' + most + (most === 1 ? ' seat' : ' seats') + '. Take one out first.')
  else chosen.add(seat.id)
  remember()
  show(seat)
  tray()
}

function remember() {
  try { sessionStorage.setItem(memory, JSON.stringify([...chosen])) } catch (e) { /* no memory, no harm */ }
}
function recall() {
  try { return JSON.parse(sessionStorage.getItem(memory)) || [] } catch (e) { return [] }
}

// show brings one seat up to date, in the map and in the list.
function show(seat) {
  if (map) map.show(seat)
  const input = inputs.get(seat.id)
  if (!input) return
  const s = state(seat)
  input.checked = s === 'M'
  input.disabled = s !== 'M' && s !== 'A'
  input.setAttribute('aria-label', label(seat))
  input.parentNode.className = s === 'M' ? 'on' : s
  input.parentNode.lastElementChild.textContent = s === 'A' && !mine.has(seat.id) ? money(style, seat.price) : word(seat)
}

function tray() {
  const list = $('picked')
  list.textContent = ''
  let total = 0
  for (const id of chosen) {
    const seat = byID.get(id), item = document.createElement('li'), out = document.createElement('button')
    total += seat.price
    out.type = 'button'
    out.className = 'q s'
    out.textContent = seat.row + ' ' + seat.number + ' ✕'
    out.setAttribute('aria-label', out.textContent + ' Take out ' + seat.zone + ', row ' + seat.row + ', seat ' + seat.number)
    out.onclick = () => { toggle(seat); (list.querySelector('button') || $('hold')).focus() }
    item.append(out)
    list.append(item)
  }
  const n = chosen.size
  $('total').textContent = n ? n + (n === 1 ? ' seat, ' : ' seats, ') + money(style, total) : 'No seat chosen yet'
}

// counts brings the numbers of free seats up to date.
function counts() {
  const free = {}
  for (const s of seats) if (states[s.i] === 'A') free[s.category] = (free[s.category] || 0) + 1
  document.querySelectorAll('[data-free]').forEach(el => { el.textContent = (free[el.dataset.free] || 0) + ' free' })
  document.querySelectorAll('details.zone').forEach(zone => {
    zone.querySelector('summary small').textContent = zone.querySelectorAll('label.A').length + ' free'
  })
}

// take reads a new picture of the house.
function take(house) {
  const before = states, lost = []
  states = house.states
  for (const seat of seats) {
    if (before[seat.i] === states[seat.i]) continue
    if (chosen.has(seat.id) && !mine.has(seat.id) && states[seat.i] !== 'A') {
      chosen.delete(seat.id)
      lost.push('row ' + seat.row + ', seat ' + seat.number)
    }
    if (before) show(seat)
  }
  if (before && before !== states) counts()
  if (lost.length) {
    remember()
    tray()
    trouble('Somebody else has just taken ' + lost.join('; ') + '. Please choose another seat.')
  }
}

async function look() {
  let next = 2000
  try {
    if (!document.hidden) {
      const house = await ask('/api/v1/events/' + conf.event + '/seats')
      if (house.planVersion !== conf.version) return trouble(changed)
      take(house)
      if (fails > 2) say('')
      fails = 0
    }
  } catch (e) {
    if (++fails > 2) say('Reconnecting… The map may be a little old.')
    next = Math.min(20000, 1000 * Math.pow(2, fails)) * (0.5 + Math.random())
  }
  setTimeout(look, next)
}

function readPlan(plan) {
  const colors = {}
  plan.categories.forEach(c => { colors[c.name] = c.color })
  plan.zones.forEach((zone, z) => zone.rows.forEach((row, r) => row.seats.forEach(s => {
    seats.push(Object.assign({}, s, { i: seats.length, zone: zone.name, row: row.name, price: prices[s.category], color: colors[s.category], key: z + '/' + r }))
  })))
  byID = new Map(seats.map(s => [s.id, s]))
}

const pause = ms => new Promise(ok => setTimeout(ok, ms))

// patiently asks until there is an answer; the list works meanwhile.
async function patiently(path) {
  for (let tries = 0; ; tries++) {
    try {
      return await ask(path)
    } catch (e) {
      await pause(Math.min(20000, 1000 * Math.pow(2, tries)) * (0.5 + Math.random()))
    }
  }
}

async function start() {
  const path = '/api/v1/events/' + conf.event + '/seats'
  let [plan, house] = await Promise.all([patiently(conf.plan), patiently(path)])
  for (let tries = 0; house.planVersion !== conf.version; tries++) { // a cache may show an old picture for some seconds
    if (tries === 4) return trouble(changed)
    await pause(2000)
    house = await patiently(path)
  }
  readPlan(plan)
  take(house)
  for (const input of form.querySelectorAll('input[name=seat]')) {
    inputs.set(input.value, input)
    if (input.checked && byID.has(input.value)) chosen.add(input.value)
    input.addEventListener('change', () => toggle(byID.get(input.value)))
  }
  if (!mine.size) for (const id of recall()) {
    if (byID.has(id) && state(byID.get(id)) === 'A' && chosen.size < most) chosen.add(id)
  }
  $('map-part').hidden = false
  const draw = seats.length > 3000 ? drawCanvas : drawSVG
  map = draw($('map'), seats, { state, label, toggle, at: text => { $('at').textContent = text } })
  if (map.small && window.matchMedia && matchMedia('(pointer: coarse)').matches) $('at').textContent = 'Tap a part of the house to come closer.'
  seats.forEach(s => { if (inputs.has(s.id)) show(s) })
  tray()
  setTimeout(look, 2000)
}

form.addEventListener('submit', e => {
  if (!chosen.size && byID.size) {
    e.preventDefault()
    return say('Mark at least one seat first.')
  }
  form.querySelectorAll('input[type=hidden]').forEach(i => i.remove())
  for (const id of chosen) {
    if (inputs.has(id)) continue
    const i = document.createElement('input')
    i.type = 'hidden'
    i.name = 'seat'
    i.value = id
    form.append(i)
  }
  try { sessionStorage.removeItem(memory) } catch (err) { /* it was not there */ }
})
addEventListener('pageshow', e => { if (e.persisted) location.reload() })

new Countdown($('left'), +$('left').dataset.left, () => {
  document.querySelectorAll('main button').forEach(b => { b.disabled = true })
  trouble('Your turn is over. Go back to the waiting room to join the line again; seats you held are free.')
  const a = document.createElement('a')
  a.href = '/events/' + conf.event
  a.textContent = 'To the waiting room'
  $('trouble').append(' ', a)
})
if (!$('trouble').hidden) $('trouble').focus()
start().catch(() => { /* the list below works without the map */ })
