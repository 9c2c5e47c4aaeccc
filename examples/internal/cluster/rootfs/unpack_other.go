//go:build !linux

package rootfs

import (
	"errors"
	"io"
)

func unpackIn(string, io.Reader) error { return errors.ErrUnsupported }
