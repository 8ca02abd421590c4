// Staff pages work without this. With it a form is sent once, the door's field keeps the focus,
// the sum is told before the sale, and pages print themselves.
for (const form of document.querySelectorAll('form[method=post]')) {
  let sent = false
  form.addEventListener('submit', e => {
    if (sent) e.preventDefault()
    sent = true
    setTimeout(() => { sent = false }, 5000)
  })
}

// A page from the browser's memory would show what is long over, and sell nothing new.
addEventListener('pageshow', e => { if (e.persisted) location.reload() })

const code = document.getElementById('code')
if (code) {
  const back = () => { if (!document.activeElement || document.activeElement === document.body) code.focus({ preventScroll: true }) }
  document.addEventListener('click', () => setTimeout(back))
  addEventListener('focus', back)
  back()
}

const sum = document.getElementById('sum'), sell = document.getElementById('sell')
if (sum && sell && sell.elements.count) {
  const tell = () => {
    const n = sell.querySelector('[name=count]:checked'), kind = sell.querySelector('[name=category]:checked')
    sum.hidden = !n || !kind
    if (!sum.hidden) sum.textContent = n.value + ' × ' + kind.value + ': ' + JSON.parse(kind.dataset.sums)[n.value - 1]
  }
  sell.addEventListener('change', tell)
  tell()
}

const print = document.getElementById('print')
if (print) {
  print.hidden = false
  print.onclick = () => window.print()
}
