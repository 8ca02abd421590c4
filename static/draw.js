// Checks a draw: the seed against its fingerprint, the order of all lots, and one's own number. Web Crypto does the hashing.
{
const $ = i => document.getElementById(i), box = $('check')
if (box && window.crypto?.subtle) {
	const E = '/api/v1/events/' + box.dataset.event, text = new TextEncoder()
	const bytes = hex => Uint8Array.from(hex.match(/../g), h => parseInt(h, 16)),
		hex = b => [...new Uint8Array(b)].map(x => x.toString(16).padStart(2, '0')).join(''),
		say = s => { $('result').textContent = s; $('result').focus() }
	const own = async () => {
		const r = await fetch(E + '/queue')
		return r.ok ? (await r.json()) : {}
	}
	const verify = async () => {
		const seed = bytes($('seed').textContent)
		if (hex(await crypto.subtle.digest('SHA-256', seed)) != $('commitment').textContent) return 'The seed does not fit its fingerprint. Tell the venue.'
		const key = await crypto.subtle.importKey('raw', seed, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
			me = await own(), list = (await (await fetch($('list').href)).text()).match(/.+/g) || []
		let last = '', mine = 0
		for (let at = 0; at < list.length; at += 500) {
			const lots = await Promise.all(list.slice(at, at + 500).map(id => crypto.subtle.sign('HMAC', key, text.encode(id))))
			for (const [i, lot] of lots.entries()) {
				const h = hex(lot)
				if (h <= last) return 'Number ' + (at + i + 1) + ' stands before a smaller lot. Tell the venue.'
				last = h
				if (list[at + i] == me.queueId) mine = at + i + 1
			}
			$('bar').value = at / list.length
			await new Promise(r => setTimeout(r))
		}
		if (mine && me.number && mine != me.number) return 'Your number should be ' + mine + ' and is ' + me.number + '. Tell the venue.'
		return 'All ' + list.length + ' lots are in order. ' + (mine ? 'Your number is ' + mine + ', as it must be.' : 'You have no place that took part.')
	}
	box.hidden = false
	$('verify').onclick = async () => {
		$('verify').disabled = true
		$('bar').hidden = false
		say('Checking …')
		try { say(await verify()) } catch (e) { say('The check did not come to its end. Please try again.') }
		$('bar').hidden = true
		$('verify').disabled = false
	}
}
}
