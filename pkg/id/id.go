// Package id makes the identifiers of records: a short word that says what it names, and 26 characters that sort by the time they
// were made (`bld_01kahw…`). It reads nothing from them; to every other package an id is an opaque string.
package id

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// lower is base32 in an order that sorts like the bytes it encodes (RFC 4648, section 7, in lower case).
var lower = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// shape is the part of an id behind the prefix.
var shape = lazyregexp.New(`^_[0-9a-v]{26}$`)

// Valid returns whether text has the form of an id with that prefix.
func Valid(prefix, text string) bool {
	rest, found := strings.CutPrefix(text, prefix)
	return found && shape.MatchString(rest)
}

// New makes an id: prefix, an underscore, 6 bytes of Unix milliseconds and 10 random bytes.
func New(prefix string) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<16)
	// crypto/rand.Read never fails: the runtime ends the program where the system has no randomness.
	_, _ = rand.Read(b[6:])
	return prefix + "_" + lower.EncodeToString(b[:])
}
