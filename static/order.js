// The order page: counts down the hold and watches for what happens to the order elsewhere.
import { Countdown, ask } from './clock.js'

const box = document.getElementById('order')
const status = box.dataset.status
const trouble = document.getElementById('trouble')
const timer = document.getElementById('left')
const open = status === 'PENDING' || status === 'PAYING', moves = open || status === 'REFUND_DUE'
let countdown, again, fails = 0

if (!trouble.hidden) trouble.focus()

// remember keeps a list for the page of events; the server has none.
function remember() {
  const id = box.dataset.order, over = status === 'CANCELLED' || status === 'EXPIRED' && !box.dataset.late
  try {
    const orders = (JSON.parse(localStorage.getItem('orders')) || []).filter(o => o.id !== id)
    if (!over) orders.unshift({ id, name: box.dataset.name, word: status === 'PAID' ? 'tickets' : 'order' })
    localStorage.setItem('orders', JSON.stringify(orders.slice(0, 20)))
  } catch (e) { /* no memory, no list */ }
}
remember()

function say(text) {
  trouble.textContent = text
  trouble.hidden = !text
}

async function look() {
  clearTimeout(again)
  let next = status === 'PAYING' ? 2000 : 8000
  try {
    const order = await ask('/api/v1/orders/' + box.dataset.order)
    if (order.status !== status) return location.replace('/orders/' + box.dataset.order) // the new page tells another status, so this happens once
    if (fails) say('')
    fails = 0
    const ms = Date.parse(order.holdExpiresAt) - Date.parse(order.serverTime)
    if (countdown && !countdown.done) countdown.set(ms)
    else if (open) next = 2000
  } catch (e) {
    if (e.status === 404) return
    fails++
    if (fails > 1) say('Reconnecting…' + (countdown && !countdown.done ? ' Your seats are held while the clock runs.' : ''))
    next = Math.min(20000, 1000 * Math.pow(2, fails)) * (0.5 + Math.random())
  }
  again = setTimeout(look, next)
}

if (timer) countdown = new Countdown(timer, +timer.dataset.left, look)
if (moves) again = setTimeout(look, 2000)

// A page that comes back from the browser's memory may be long over.
addEventListener('pageshow', e => { if (e.persisted) location.reload() })
document.addEventListener('visibilitychange', () => { if (moves && !document.hidden) look() })

for (const form of document.querySelectorAll('form')) {
  let sent = false
  form.addEventListener('submit', e => {
    if (sent) e.preventDefault()
    sent = true
    setTimeout(() => { sent = false }, 5000)
  })
}

const number = document.getElementById('number')
if (number) {
  const copy = document.getElementById('copy')
  number.onfocus = () => number.select()
  copy.hidden = !navigator.clipboard
  copy.onclick = async () => {
    await navigator.clipboard.writeText(number.value)
    copy.textContent = 'Copied'
  }
}

const print = document.getElementById('print')
if (print) {
  print.hidden = false
  print.onclick = () => window.print()
}
