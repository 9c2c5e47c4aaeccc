// Package id generates the identifiers of records: a short word for the kind of record, and 26
// characters that sort by creation time (`bld_01kahw…`). Those of installs have no underscore between
// the two, because apps make names of namespaces, buckets and DNS zones of them. The package does not parse
// ids; to every other package an id is an opaque string.
package id

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// lower is base32 in an order that sorts like the bytes it encodes (RFC 4648, section 7, in lower
// case).
var lower = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Letters are the characters that an id may have, also one that another version generates.
const Letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// installPrefix is the prefix of the ids of installs.
const installPrefix = "ins"

// suffixForm matches the part of an id after the separator.
var suffixForm = lazyregexp.New(`^[0-9a-v]{26}$`)

// Valid reports whether text has the form of an id with that prefix. An install's id may have an
// underscore, which earlier versions wrote.
func Valid(prefix, text string) bool {
	suffix, found := strings.CutPrefix(text, prefix)
	bare, underscore := strings.CutPrefix(suffix, "_")
	return found && (underscore || prefix == installPrefix) && suffixForm.MatchString(bare)
}

// New returns a new id: prefix, an underscore unless it is an install's, 6 bytes of Unix milliseconds
// and 10 random bytes.
func New(prefix string) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<16)
	// crypto/rand.Read never fails: the runtime ends the program if the system has no randomness.
	_, _ = rand.Read(b[6:])
	if prefix == installPrefix {
		return prefix + lower.EncodeToString(b[:])
	}
	return prefix + "_" + lower.EncodeToString(b[:])
}
