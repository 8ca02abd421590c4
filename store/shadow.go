package store

import (
	"iter"
	"maps"

	"foyer/sale"
)

// shadow holds what a batch has written of one kind over what is committed:
// own by the function that runs, batch by those before it.
type shadow[K comparable, V any] struct{ own, batch map[K]V }

func newShadow[K comparable, V any]() shadow[K, V] {
	return shadow[K, V]{own: map[K]V{}, batch: map[K]V{}}
}

func (s *shadow[K, V]) get(k K) (V, bool) {
	if v, ok := s.own[k]; ok {
		return v, true
	}
	v, ok := s.batch[k]
	return v, ok
}

func (s *shadow[K, V]) put(k K, v V) { s.own[k] = v }

func (s *shadow[K, V]) keep() {
	maps.Copy(s.batch, s.own)
	clear(s.own)
}

func (s *shadow[K, V]) drop() { clear(s.own) }

// all yields everything that get would find.
func (s *shadow[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range s.own {
			if !yield(k, v) {
				return
			}
		}
		for k, v := range s.batch {
			if _, newer := s.own[k]; !newer && !yield(k, v) {
				return
			}
		}
	}
}

func (s *shadow[K, V]) reset() {
	clear(s.own)
	clear(s.batch)
}

// layer is what all shadows have in common.
type layer interface {
	keep()
	drop()
	reset()
}

// list is an append-only shadow.
type list[V any] struct{ own, batch []V }

func (l *list[V]) add(v V) { l.own = append(l.own, v) }
func (l *list[V]) keep() {
	l.batch = append(l.batch, l.own...)
	l.own = l.own[:0]
}
func (l *list[V]) drop() { l.own = l.own[:0] }
func (l *list[V]) reset() {
	clear(l.batch) // let bodies go
	l.own, l.batch = l.own[:0], l.batch[:0]
}

// placeWrite is a place as written; gone marks one that was removed.
type placeWrite struct {
	place sale.Place
	gone  bool
}
