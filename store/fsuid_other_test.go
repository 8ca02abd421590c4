//go:build !linux

package store_test

import "errors"

func setfsuid(int) error { return errors.ErrUnsupported }
