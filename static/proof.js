// Proves what an event asks for before it gives a number, and joins with the proof.
// Gives {s: status, j: body} of the join, or {s: 403, j: {detail}} when nothing can be proved here.

// The work after ALTCHA, version 1: the number whose digits behind the salt have this SHA-256.
async function work(c, told) {
  const wanted = c.challenge, text = new TextEncoder()
  const step = 250
  for (let from = 0; from <= c.maxnumber; from += step) {
    const tries = []
    for (let n = from; n < from + step && n <= c.maxnumber; n++) tries.push(crypto.subtle.digest('SHA-256', text.encode(c.salt + n)))
    const i = (await Promise.all(tries)).findIndex(hash => hex(hash) === wanted)
    if (i >= 0) return btoa(JSON.stringify({ algorithm: c.algorithm, challenge: c.challenge, number: from + i, salt: c.salt, signature: c.signature }))
    told(Math.round(100 * from / c.maxnumber))
  }
}

const hex = bytes => Array.from(new Uint8Array(bytes), b => b.toString(16).padStart(2, '0')).join('')

async function widget(c, box) {
  if (!window[c.provider]) {
    await new Promise((done, failed) => {
      const s = document.createElement('script')
      s.src = c.script
      s.onload = done
      s.onerror = failed
      document.head.append(s)
    })
  }
  return new Promise((done, failed) => {
    window[c.provider].render(box, { sitekey: c.siteKey, callback: done, 'error-callback': failed })
  })
}

export async function prove(challenge, queue, note, also) {
  const say = s => { note.textContent = s; note.hidden = false }
  let proof
  try {
    if (challenge.provider) {
      say('Please confirm below that you are not a program.')
      const box = document.createElement('div')
      note.after(box)
      try { proof = await widget(challenge, box) } finally { box.remove() }
    } else if (window.crypto?.subtle) {
      say('One moment: your browser does a small task before it joins.')
      proof = await work(challenge, p => say('One moment: your browser does a small task before it joins (at most ' + (100 - p) + '% left).'))
    }
  } catch { /* told below */ }
  if (!proof) {
    return { s: 403, j: { detail: challenge.provider || window.crypto?.subtle ? 'The check could not be made. Load this page again and try once more.' : 'This event can only be joined over a secure connection (https).' } }
  }
  note.hidden = true
  const r = await fetch(queue, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ...also, proof }) })
  if (r.status === 429) throw r // the page tries again
  return { s: r.status, j: await r.json() }
}
