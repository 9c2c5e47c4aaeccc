package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// programDir is the directory of the program in an image, and dataDir that of its data and its home.
	programDir = "usr/local/bin/"
	dataDir    = "/var/lib/nuon"
	// userID is the user and the group of the programs.
	userID = 65532
)

// entry is a file of a layer, or a directory if its path ends with a slash.
type entry struct {
	path    string
	mode    int64
	owner   int
	content []byte
}

// layer is a layer of an image.
type layer struct{ tar, packed []byte }

// baseLayer returns what the programs and the tools that they start need: a user with a directory, /tmp, and the
// certificates of public authorities.
func baseLayer() (layer, error) {
	return pack([]entry{
		{path: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\nnuon:x:%d:\n", userID)},
		{path: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\n"+
			"nuon:x:%d:%d:nuon:%s:/sbin/nologin\n", userID, userID, dataDir)},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{path: "tmp/", mode: 0o1777},
		{path: "var/lib/nuon/", mode: 0o700, owner: userID},
	})
}

// authorities returns the certificates of public authorities, as Mozilla lists them. It leaves out those that Mozilla
// trusts only under a condition, which a file of certificates cannot state.
func authorities() []byte {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			file.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return file.Bytes()
}

// pack makes a layer whose bytes depend only on its entries.
func pack(entries []entry) (layer, error) {
	var plain, packed bytes.Buffer
	archive := tar.NewWriter(&plain)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.path, Mode: e.mode, Uid: e.owner, Gid: e.owner,
			Size: int64(len(e.content)), ModTime: created}
		if e.path[len(e.path)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return layer{}, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return layer{}, err
		}
	}
	compressed := gzip.NewWriter(&packed)
	if err := archive.Close(); err != nil {
		return layer{}, err
	}
	_, err := compressed.Write(plain.Bytes())
	if err := errors.Join(err, compressed.Close()); err != nil {
		return layer{}, err
	}
	return layer{tar: plain.Bytes(), packed: packed.Bytes()}, nil
}
