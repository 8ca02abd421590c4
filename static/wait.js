// Time is the server's, on a clock that nobody can set.
{
const d = document, $ = i => d.getElementById(i), id = d.body.dataset.e, name = $('name').textContent,
	A = '/api/v1', E = A + '/events/' + id, Q = E + '/queue', go = $('go'), here = go.href, to = go.text, gone = 'left ' + id,
	mono = () => performance.now()
let place, status, statusAt = -1e9, off, mine = 1, gen = 0, fails = 0, timer, spoke = -2e4, called

const show = (i, on) => { $(i).hidden = !on },
	text = (i, s = '') => { if ($(i).textContent != s) $(i).textContent = s; show(i, s) }
const why = s => { text('why', s); if (s) $('why').focus() }
const keep = (k, v) => { try { return v === undefined ? localStorage[k] : localStorage[k] = v } catch { } }
const num = n => (+n).toLocaleString('en'),
	pad = n => ('0' + n).slice(-2),
	clock = t => { off = Date.parse(t) - mono() }
const until = t => {
	const s = Math.max(0, Math.ceil((Date.parse(t) - off - mono()) / 1e3)), m = s / 60 | 0, h = m / 60 | 0
	return h > 47 ? (h / 24 | 0) + ' days' : (h ? h + ':' + pad(m % 60) : m) + ':' + pad(s % 60)
}
const eta = r => {
	const h = r.high > 5400, u = h ? 3600 : 60, a = Math.max(1, r.low / u | 0), b = Math.max(a, Math.ceil(r.high / u))
	return r.high < 60 ? 'less than a minute' : 'about ' + (a < b ? a + '–' : '') + b + (h ? ' hour' : ' minute') + (b > 1 ? 's' : '')
}
const ahead = () => status.phase == 'CLOSED' ? 'The sale is closed. Your place is kept in case it opens again.' :
	mine == 'LOBBY' ? 'until the sale opens. Then the line starts moving.' :
	place.rank ? (place.rank > 1 ? 'people are' : 'person is') + ' ahead of you' : 'You are next'

// Gives {s: status, j: body}; throws what is no answer of Foyer's.
const call = async (m, u) => {
	const c = new AbortController()
	setTimeout(() => c.abort(), 1e4)
	const r = await fetch(u, { method: m, signal: c.signal })
	if (r.status == 204 && m == 'DELETE') return { s: 204 }
	if (m != 'POST' && (r.status > 499 || r.status == 429)) throw r
	return { s: r.status, j: await r.json() }
}
const wait = ms => { clearTimeout(timer); timer = setTimeout(poll, ms); draw() }
const later = () => { fails = 0; wait(place && place.pollAfterMillis || 4e3 + Math.random() * 2e3) }
const failed = r => wait((.5 + Math.random()) * Math.max(Math.min(2e4, 1e3 * 2 ** fails++), Math.min(20, r?.headers?.get('Retry-After')) * 2e3 || 0))

const poll = async () => {
	const g = ++gen
	clearTimeout(timer)
	try {
		if (mono() - statusAt > 4500) {
			const r = await call('GET', E + '/status')
			if (!r.j.phase) throw r
			status = r.j; statusAt = mono()
			if (off === undefined) clock(status.serverTime)
		}
		const r = mine && await call('GET', Q)
		if (g != gen) return
		if (r.s == 200 && r.j.status) await take(r.j)
		else if (place) throw r
		else mine = 0
		if (g == gen) later()
	} catch (e) { if (g == gen) failed(e) }
}
const take = (j, click) => {
	const was = place && place.status
	clock(j.serverTime)
	mine = j.status != 'NOT_ENTERED' && j.status
	place = mine && j
	if (!mine) {
		if (was == 'READY') why('Your turn is over. You can join the line again.')
		else if (was && !keep(gone)) return join('You were called while nobody was here. ')
	} else if (mine == 'READY') {
		called = j.entryTokenExpiresAt
		if (click === 1 && !j.orderId) location = here
		else if (was != mine) {
			spoke = mono(); draw()
			text('now', $('turn').innerText)
			navigator.vibrate?.([300, 150, 300])
			go.focus()
		}
	}
}
const join = async note => {
	const g = ++gen
	clearTimeout(timer)
	mine = 1
	if (!note) why('')
	try {
		let r = await call('POST', Q)
		if (r.s == 401) { await call('POST', A + '/visitors'); r = await call('POST', Q) }
		if (r.j.challenge) r = await (await import('/static/proof.js')).prove(r.j.challenge, Q, $('why'))
		if (g != gen) return
		keep(gone, '')
		if (r.s < 300) {
			take(r.j, note || 1)
			if (note) text('why', note + (r.s == 201 ? 'You have a new place at the end of the line.' : 'You are back at the front.'))
		} else { mine = 0; why(r.s == 401 ? 'Please allow cookies: one keeps your place.' : r.j.detail) }
		later()
	} catch (e) { failed(e) }
}
const draw = () => {
	show('net', fails)
	if (!status) return
	const ph = status.phase, ready = mine == 'READY', order = ready && place.orderId, w = place && !ready, shut = ph == 'CLOSED', old = mono() - spoke > 2e4, lobby = ph == 'LOBBY' && status.opensAt
	text('word', status.message || '')
	show('join', !mine); show('wait', w); show('kept', w); show('turn', ready)
	show('out', place && $('sure').hidden)
	if (!place) show('sure')
	$('join').lastElementChild.hidden = ph == 'SOLD_OUT' || shut
	text('open', { LOBBY: 'Join the line. It starts moving in', PAUSED: 'The line is paused for a moment. You can join it.', CLOSED: 'The sale is closed.', SOLD_OUT: 'Sold out.' }[ph] || 'The sale is open.')
	text('soon', lobby ? until(lobby) : '')
	if (w) {
		const r = place.rank, k = 'first ' + place.queueId, first = keep(k) || r, early = mine == 'LOBBY'
		if (first <= r) keep(k, r)
		text('rank', shut ? '' : early ? until(place.opensAt) : r ? num(r) : '')
		text('ahead', ahead())
		show('bar', !early && !shut); $('bar').max = first; $('bar').value = first - r
		text('eta', ph == 'PAUSED' ? 'The line is paused; your place is kept.' : ph == 'SOLD_OUT' ? 'Sold out. Seats that come back go to the line.' : early || shut ? '' : 'Your turn in ' + eta(place.estimatedWaitRange))
		text('no', place.number ? 'You are number ' + num(place.number) : '')
		text('upd', 'Last update ' + new Date(place.serverTime).toLocaleTimeString())
		if (old) {
			spoke = mono()
			$('live').textContent = $('rank').textContent + ' ' + ahead()
		}
	} else $('live').textContent = ''
	if (!ready || old) text('now')
	text('ask', 'Give up your place' + (order ? ' and the seats you hold?' : '?'))
	if (ready) {
		text('head', order ? 'Your seats are held' : 'It is your turn')
		text('for', order ? 'Go on to pay for them.' : 'Time left')
		text('left', order ? '' : until(called))
		text('go', order ? 'To your order' : to)
		go.href = order ? '/orders/' + order : here
	}
	d.title = (ready ? 'Your turn – ' : w && !shut && mine != 'LOBBY' ? (place.rank ? num(place.rank) + ' ahead' : 'Next') + ' – ' : '') + name
}
const ask = on => { show('sure', on); show('out', !on); $(on ? 'stay' : 'leave').focus() }
const back = () => { mine = mine || 1; statusAt = -1e9; poll() }

$('join').onsubmit = e => { e.preventDefault(); join() }
$('leave').onclick = () => ask(1)
$('stay').onclick = () => ask(0)
$('yes').onclick = async () => {
	gen++
	try {
		await call('DELETE', Q + '/' + place.queueId)
		keep(gone, 1); place = mine = 0; why('You have left the line.'); later()
	} catch (e) { failed(e) }
}
onpageshow = e => e.persisted && back()
ononline = back
d.onvisibilitychange = () => d.hidden || back()
setInterval(draw, 1e3)
poll()
}
