// A link to a place carries its code behind the #, which no server sees. It is moved into the form and out of the address.
const $ = i => document.getElementById(i), form = $('bring'), note = document.querySelector('[autofocus]')

function take() {
  if (location.hash.length < 2) return
  $('paper').value = location.hash.slice(1)
  history.replaceState(null, '', location.pathname + location.search)
  $('go').focus()
}

const scripts = document.createElement('input')
scripts.type = 'hidden'
scripts.name = scripts.value = 'scripts'
form.append(scripts)
form.addEventListener('submit', () => {
  try { localStorage.removeItem('left ' + form.dataset.event) } catch (e) { /* no memory */ }
})
try {
  if ($('orders')) $('orders').hidden = !JSON.parse(localStorage.getItem('orders') || '[]').length
} catch (e) { /* then it stays */ }
if (note) note.focus()
take()
addEventListener('hashchange', take)
