// Orders that this browser made, newest first; order.js writes them down. The server has no list of a visitor's orders.
const box = document.getElementById('orders'), list = box.querySelector('ul')
let orders = []
try { orders = JSON.parse(localStorage.getItem('orders')) || [] } catch (e) { /* no memory, no list */ }
for (const o of orders) {
  const item = document.createElement('li'), link = document.createElement('a')
  link.href = '/orders/' + o.id
  link.textContent = o.name
  item.append(link, ', ' + o.word)
  list.append(item)
}
box.hidden = !orders.length
