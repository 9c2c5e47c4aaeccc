package modules

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/html"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// maxPage bounds a page that leads to an archive, in bytes.
const maxPage = 1 << 20

// download fetches and unpacks an archive.
func (r *run) download(ctx context.Context, client *http.Client, at *url.URL, web *webAddress) (made *pack,
	err error) {
	err = r.get(ctx, client, at, func(response *http.Response) (err error) {
		file, size, err := spool(response.Body, r.limits.DownloadBytes)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, discard(file)) }()
		made, err = r.unpack(file, size, web)
		return err
	})
	return made, err
}

func (r *run) unpack(file *os.File, size int64, web *webAddress) (*pack, error) {
	if err := checkSum(file, web.checksum); err != nil {
		return nil, err
	}
	start := make([]byte, 512)
	n, _ := file.ReadAt(start, 0) // a shorter file is no error
	if looksLikeHTML(start[:n]) {
		return nil, problemf("check the address; what is private also needs a credential",
			"the answer is a web page, not an archive")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil, fmt.Errorf("read a download: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read a download: %w", err)
	}
	files, err := unpack(web.format, file, size, r.limits)
	if err != nil {
		return nil, err
	}
	made := newPack(files)
	made.archive = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return made, nil
}

// followPage requests an address that is no archive, as Terraform does: the answer names one in the
// header X-Terraform-Get or in a meta element.
func (r *run) followPage(
	ctx context.Context, client *http.Client, at *url.URL, commit string, hops int,
) (*pack, error) {
	what := "the page " + showHost(at)
	asked := *at
	if asked.RawQuery != "" {
		asked.RawQuery += "&"
	}
	asked.RawQuery += "terraform-get=1"
	var location string
	err := r.retry(ctx, what, func() error {
		return r.get(ctx, client, &asked, func(response *http.Response) (err error) {
			location, err = pageLocation(response)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	found, err := parseLocation(at, location)
	if err != nil {
		return nil, err
	}
	var made *pack
	if found.git != nil {
		made, err = r.fetchRepository(ctx, found.git, commit)
	} else {
		made, err = r.fetchWeb(ctx, found.web, commit, hops+1)
	}
	if err != nil {
		return nil, err
	}
	return made.below(found.subdir, r.limits)
}

// below returns the package that a directory of this one is. Terraform installs only the directory
// that a page names, unlike the one that a source or a registry names.
func (p *pack) below(subdir string, limits Limits) (*pack, error) {
	dir, err := moduleDir(p, subdir)
	if err != nil || dir == "." {
		return p, err
	}
	if dir, err = p.tree.Real(dir); err != nil {
		return nil, err
	}
	var files []artifact.File
	for _, file := range p.files {
		if inside, is := strings.CutPrefix(file.Path, dir+"/"); is {
			file.Path = inside
			files = append(files, file)
		}
	}
	if err := checkFiles(files, limits); err != nil {
		return nil, err
	}
	made := newPack(files)
	made.repository, made.commit, made.archive = p.repository, p.commit, p.archive
	return made, nil
}

func pageLocation(response *http.Response) (string, error) {
	location := response.Header.Get("X-Terraform-Get")
	if location == "" {
		tooLarge := problemf("name an archive: an address that ends with .zip or .tar.gz, or has archive=",
			"the answer has more than %d bytes", maxPage)
		content, err := netguard.ReadAll(response.Body, maxPage, tooLarge)
		if err != nil {
			return "", err
		}
		location = metaLocation(content)
	}
	if location == "" || len(location) > maxLocationText {
		return "", problemf("name an archive: an address that ends with .zip or .tar.gz, or has archive=; "+
			"or write git:: in front of a repository's",
			"the address is neither an archive nor a page that leads to one (X-Terraform-Get)")
	}
	return location, nil
}

// metaLocation returns the content of <meta name="terraform-get"> in a page.
func metaLocation(page []byte) string {
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			if token.Data == "body" {
				return ""
			}
			if token.Data != "meta" {
				continue
			}
			attributes := map[string]string{}
			for _, attribute := range token.Attr {
				attributes[attribute.Key] = attribute.Val
			}
			if strings.EqualFold(attributes["name"], "terraform-get") {
				return attributes["content"]
			}
		}
	}
}
