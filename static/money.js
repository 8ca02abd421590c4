// How amounts are written, told by the server in a style (moneyStyle in web/pages_money.go), so that scripts and pages
// write the same amount alike, whatever languages the browser itself knows.
export function money(style, minor) {
  const text = String(minor).padStart(style.digits + 1, '0')
  let whole = text.slice(0, text.length - style.digits)
  const part = text.slice(text.length - style.digits)
  if (style.group && whole.length >= style.first + style.least) {
    let rest = whole.slice(0, -style.first)
    whole = whole.slice(-style.first)
    for (; rest; rest = rest.slice(0, -style.rest)) whole = rest.slice(-style.rest) + style.group + whole
  }
  const number = (style.digits ? whole + style.decimal + part : whole).replace(/[0-9]/g, d => String.fromCodePoint(style.zero + +d))
  return style.before + number + style.after
}
