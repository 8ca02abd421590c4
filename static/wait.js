// The page lives on the status document, which any cache may keep; it asks for its own place when the line has come
// near. Time is the server's, on a clock that nobody can set.
if (!self.document) setInterval(() => postMessage(0), 1e3) // as a worker: a clock that browsers let tick in hidden tabs
else {
const d = document, $ = i => d.getElementById(i), id = d.body.dataset.e, name = $('name').textContent,
	A = '/api/v1', E = A + '/events/' + id, Q = E + '/queue', go = $('go'), field = $('code'), here = go.href, to = go.text, gone = 'left ' + id,
	src = d.currentScript.src, mono = () => performance.now()
let place, status, blind, off, mine = 1, gen = 0, fails = 0, timer, due, spoke = -2e4, called, want, stream, live, mute = 0, ticker, high, told, calm, renewing, full

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
// Times as the server writes them.
const en = 'en-GB', hour = (t, timeStyle = 'short') => new Date(t).toLocaleTimeString(en, { timeStyle })
// The time of the house stands on the page; who lives elsewhere reads the own one too.
const own = t => {
	const z = Intl.DateTimeFormat().resolvedOptions().timeZone
	return t && z != d.body.dataset.z ? 'That is ' + new Date(t).toLocaleDateString(en, { weekday: 'short', day: 'numeric', month: 'long', year: 'numeric' }).replace(',', '') + ', ' + hour(t) + ' where you are (' + z + ')' : ''
}
const eta = r => {
	const h = r.high > 5400, u = h ? 3600 : 60, a = Math.max(1, r.low / u | 0), b = Math.max(a, Math.ceil(r.high / u))
	return r.high < 60 ? 'less than a minute' : 'about ' + (a < b ? a + '–' : '') + b + (h ? ' hour' : ' minute') + (b > 1 ? 's' : '')
}
// Rank is what the server said last, less what has passed since; exact where the number alone tells nothing.
const way = () => blind || status.classes || !place.number ? 0 : place.number - status.frontier
const exact = () => way() <= 0 || way() >= place.way
const rank = () => exact() ? place.rank : Math.ceil(place.rank * way() / place.way)
const ahead = r => over() ? 'Your place is kept in case some do come back.' : status.phase == 'CLOSED' ? 'The sale is closed. Your place is kept in case it opens again.' :
	mine == 'LOBBY' ? (place.class == 'member' && status.opensAt > place.opensAt ? 'until the presale begins. Then the members’ line starts moving.' :
		'until the sale opens. ' + (place.draw ? 'Then the order is drawn.' : status.presale ? 'Members are let in already.' : 'Then the line starts moving.')) :
	r ? (r > 1 ? 'people are' : 'person is') + ' ahead of you' : 'You are next'
// The wait of a rank, as the server reckons it.
const range = r => {
	const q = status.rates, n = r + 1, c = 1.28 / Math.sqrt(n)
	return blind || !q || !q.low ? place.estimatedWaitRange : { low: Math.max(n / q.high / (1 + c), n / status.pace), high: n / q.low * (1 + c) }
}
const word = () => (blind || status.classes ? place : status).estimateReason
const reason = l => ({
	paused: 'The line was paused.',
	members: 'Members wait too and have a share of the turns.',
	public: 'Others wait too and have a share of the turns.',
	returned: 'People who were called before came back to the front.',
	draw: 'The draw decides who comes before you.',
	slower: 'People take longer than expected.',
	trouble: 'Fewer people are let in for a while, because something behind the line is slow.',
	pace_lowered: l && (l.what == 'maxActive' ? 'Fewer people are let in at a time: ' + num(l.to) + ' instead of ' + num(l.from) + '.' :
		'The pace was lowered from ' + num(l.from) + ' to ' + num(l.to) + ' people a second.')
})[word()]
// A wait that was shown gets longer only with the reason beside it.
const turnIn = r => {
	const now = range(r)
	if (!now) return ''
	if (now.high > high) {
		const why = reason(status.lowered)
		if (why) { calm = told ? calm : high; told = why } else now.high = high
	} else if (now.high <= calm) told = ''
	high = now.high
	return 'Your turn in ' + eta(now) + (told ? '. It is longer than before. ' + told : '')
}
const chance = r => {
	const c = status.chance, left = status.seatsLeft, n = r + status.active, some = Math.ceil(n * c?.seatsPerTurn - .001)
	if (!c || blind || !left) return ''
	const known = c.fair !== undefined
	return (left > 1 ? num(left) + ' seats are' : 'One seat is') + ' left.' +
		(some > 0 && known ? ' The ' + (n > 1 ? num(n) + ' people' : 'person') + ' before you will take about ' + num(some) + '.' : '') +
		(r <= c.good ? ' Your chance of a seat is good.' : !known ? '' : r <= c.fair ? ' Your chance of a seat is fair.' :
			r <= c.small ? ' Your chance of a seat is small.' : ' A seat for you is not likely.')
}

const over = () => status.phase == 'SOLD_OUT' && !status.seatsMayReturn,
	none = () => over() ? 'Sold out. No seats are expected back.' : status.seatsMayReturn ? (status.phase == 'SOLD_OUT' ? 'Sold out.' : 'All seats are taken now.') + ' Seats that come back go to the line.' : ''

// Gives {s: status, j: body}; throws what is no answer of Foyer's.
const call = async (m, u, b) => {
	const c = new AbortController()
	setTimeout(() => c.abort(), 1e4)
	const r = await fetch(u, { method: m, cache: 'no-store', signal: c.signal, ...b && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(b) } })
	if (r.status == 204 && m == 'DELETE') return { s: 204 }
	if (r.status == 429 || m != 'POST' && r.status > 499) throw r
	return { s: r.status, j: await r.json() }
}
const wait = ms => { clearTimeout(timer); due = mono() + ms; timer = setTimeout(poll, ms); draw(); listen() }
// Whether the place itself must be asked for; who is called must come in time.
const must = () => !place || want || blind || mine == 'READY' || mine == 'LOBBY' && (status.phase != 'LOBBY' || place.opensAt <= status.serverTime) || way() < 0 || !live && (rank() < 100 || status.classes && mine != 'LOBBY')
const later = () => {
	fails = 0
	const r = place && rank()
	wait(place && must() ? place.pollAfterMillis :
		(.8 + .4 * Math.random()) * Math.min(!place ? 5e3 : r < 1e3 ? 2e3 : r < 1e4 ? 4e3 : 1e4, 250 * (status.pickupSeconds || 60)))
}
const failed = r => wait((.5 + Math.random()) * Math.max(Math.min(2e4, 1e3 * 2 ** fails++), Math.min(20, r?.headers?.get('Retry-After')) * 2e3 || 0))

const look = async () => {
	try {
		const r = await call('GET', E + '/status')
		if (!r.j.phase) throw r
		if (blind) want = 1
		status = r.j; blind = 0
		if (status.page && !src.includes(status.page)) renew()
		if (off === undefined) clock(status.serverTime)
		if (mine == 'LOBBY' && status.phase != 'LOBBY' && place.number) mine = place.status = 'WAITING'
	} catch (e) {
		if (!mine || fails % 2) throw e
		blind = 1 // the place itself tells enough
	}
}
// After an update of Foyer an open page takes the new program, by and by, in nobody's turn and not while he joins.
const renew = () => {
	renewing ||= setTimeout(() => { renewing = 0; if (mine != 'READY' && mine !== 1 && !field?.value) location.reload() }, 5e3 + Math.random() * 25e3)
}
const poll = async () => {
	const g = ++gen
	clearTimeout(timer)
	due = 1 / 0
	try {
		await look()
		if (g != gen) return
		if (mine && must()) {
			const r = await call('GET', Q)
			if (g != gen) return
			if (r.s == 200 && r.j.status) await take(r.j)
			else if (place || blind) throw r
			else mine = 0
		}
		if (g == gen) later()
	} catch (e) { if (g == gen) failed(e) }
}
const take = (j, click) => {
	const was = place && place.status, away = j.aside
	clock(j.serverTime)
	mine = j.status != 'NOT_ENTERED' && j.status
	if (mine && place?.queueId != j.queueId) high = told = undefined
	place = mine && j
	want = 0
	if (!status) status = { phase: mine == 'LOBBY' ? mine : 'OPEN' }
	if (mine) place.way = way()
	if (!mine) {
		const when = away ? 'You were called at ' + hour(away.calledAt) + ' and were not here' : 'You were called while nobody was here', kept = away?.keptUntil > j.serverTime
		if (was == 'READY') why('Your turn is over. You can join the line again.')
		else if (was && !keep(gone)) return join(when + '. ')
		else if (away) {
			why(when + (kept ? '; your place is kept until ' : '; your place was kept until ') + hour(away.keptUntil) + '.')
			if (kept) $('join').lastElementChild.textContent = 'Come back to the front'
		}
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
// Near the front one tab of a browser, one that is seen, has a stream. Browsers open six connections to a host, and a
// lock is there for one; every other tab asks.
const listen = () => {
	if (d.hidden || mine != 'WAITING' || rank() >= 1e3) return hush()
	if (stream || mono() < mute || !navigator.locks) return
	stream = { close() { } }
	navigator.locks.request('stream', { ifAvailable: true }, l => new Promise(end => {
		if (!l || !stream || !place) { stream = 0; mute = mono() + 5e3; return end() }
		const s = new EventSource(Q + '/' + place.queueId + '/stream')
		stream = { close() { s.close(); end() } }
		s.addEventListener('place', e => { live = 1; gen++; take(JSON.parse(e.data)); if (mine) later() })
		s.onerror = () => { mute = mono() + 3e3 + Math.random() * 7e3; hush() }
	}))
}
const hush = () => { if (stream) stream.close(); stream = live = 0 }
const join = async note => {
	const g = ++gen
	clearTimeout(timer)
	mine = 1
	if (!note) why('')
	try {
		const code = field?.value.trim(), b = code && { code }
		let r = await call('POST', Q, b)
		if (r.s == 401) { await call('POST', A + '/visitors'); r = await call('POST', Q, b) }
		if (r.j.challenge) r = await (await import('/static/proof.js')).prove(r.j.challenge, Q, $('why'), b)
		if (g != gen) return
		keep(gone, '')
		$('join').lastElementChild.textContent = 'Join the line'
		if (r.s < 300) {
			if (field) field.value = ''
			take(r.j, note || 1)
			if (note) text('why', note + (r.s == 201 ? 'Your place was not kept any longer. You have a new place at the end of the line.' : 'You are back at the front.'))
		} else {
			mine = 0
			if (field && /code/.test(r.j.code)) $('codes').open = true
			full = r.j.code == 'sold_out'
			why(r.s == 401 ? 'Please allow cookies: one keeps your place.' : r.j.detail)
		}
		later()
	} catch (e) {
		if (g != gen) return
		if (e.status != 429) return failed(e)
		why('Many people join from where you are. This page tries again by itself.')
		timer = setTimeout(join, (+e.headers.get('Retry-After') + Math.random()) * 1e3, note)
	}
}
const draw = () => {
	show('net', fails)
	if (!status) return
	const ph = status.phase, ready = mine == 'READY', order = ready && place.orderId, w = place && !ready, shut = ph == 'CLOSED' || over(), old = mono() - spoke > 2e4, lobby = ph == 'LOBBY' && status.opensAt
	if (full && ph == 'SOLD_OUT') why(full = '') // the page says it itself now
	text('word', status.message || '')
	show('join', !mine); show('wait', w); show('kept', w); show('turn', ready)
	show('out', place && $('sure').hidden)
	if (!place) show('sure')
	$('join').lastElementChild.hidden = ph == 'SOLD_OUT' || shut
	text('open', { LOBBY: (status.presale ? (status.estimateReason == 'paused' ? 'The members’ line is paused for a moment.' : 'Members are let in now.') + ' For everybody else the line' : 'Join the line. It') + ' starts moving in', PAUSED: 'The line is paused for a moment. You can join it.', CLOSED: 'The sale is closed.' }[ph] || none() || 'The sale is open.')
	text('soon', lobby ? until(lobby) : '')
	if ($('own')) text('own', own(lobby))
	if (w) {
		const r = rank() ?? (status.waiting / 2 | 0), k = 'first ' + place.queueId, first = keep(k) || r, early = mine == 'LOBBY'
		if (first <= r) keep(k, r)
		text('rank', shut ? '' : early ? until(place.opensAt) : r ? (exact() ? '' : '≈ ') + num(r) : '')
		text('ahead', ahead(r))
		show('bar', !early && !shut); $('bar').max = first; $('bar').value = first - r
		text('eta', ph == 'PAUSED' || word() == 'paused' && !early ? 'The line is paused; your place is kept.' : none() || early || shut ? '' : turnIn(r))
		text('odds', shut || none() ? '' : chance(r))
		text('gone', ph == 'CLOSED' || ph == 'PAUSED' ? '' : none())
		show('exact', !early && !shut && !exact())
		text('no', place.number ? 'You are number ' + num(place.number) + (place.class ? ', in the members’ line' : '') : '')
		text('upd', 'Last update ' + hour(blind ? place.serverTime : status.serverTime, 'medium'))
		if (old) {
			spoke = mono()
			$('live').textContent = $('gone').textContent + ' ' + $('rank').textContent + ' ' + ahead(r)
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
	d.title = (ready ? 'Your turn – ' : w && !shut && mine != 'LOBBY' ? (rank() ? num(rank()) + ' ahead' : 'Next') + ' – ' : '') + name
}
const ask = on => { show('sure', on); show('out', !on); $(on ? 'stay' : 'leave').focus() }
const back = () => { mine = mine || 1; want = 1; poll() }

$('exact').onclick = back
if (/^#code=/.test(location.hash)) {
	if (field) {
		try { field.value = decodeURIComponent(location.hash.slice(6)) } catch { }
		$('codes').open = true
	}
	history.replaceState(null, '', location.pathname + location.search)
}
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
d.onvisibilitychange = () => {
	if (!d.hidden) { ticker?.terminate(); ticker = 0; return back() }
	hush()
	try { ticker = ticker || new Worker(src); ticker.onmessage = () => mono() > due && poll() } catch { }
}
onpagehide = hush
setInterval(draw, 1e3)
poll()
}
