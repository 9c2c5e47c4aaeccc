package modules

import (
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// maxSource bounds a source, in bytes.
const maxSource = 2000

// address is a parsed source: exactly one of registry, git and web is set.
type address struct {
	registry *registryAddress
	git      *gitAddress
	web      *webAddress
	// subdir is the directory in the package, which may have the wildcards of package path; empty for
	// the root.
	subdir string
}

// registryAddress is a module in a module registry.
type registryAddress struct {
	host, namespace, name, system string
}

// String returns "host/namespace/name/system", which is the address in Terraform's manifest.
func (a registryAddress) String() string { return a.host + "/" + a.path() }

func (a registryAddress) path() string { return a.namespace + "/" + a.name + "/" + a.system }

// gitAddress is a git repository.
type gitAddress struct {
	// url has the scheme https, http or ssh, and no query.
	url *url.URL
	// ref is a branch, a tag or a commit; empty means the default branch.
	ref string
}

// webAddress is an archive, or a page that leads to one.
type webAddress struct {
	url *url.URL
	// format is the format of the archive, such as "zip"; empty for a page.
	format string
	// checksum is the value of the query key of that name, or empty.
	checksum string
}

// The forms of a registry address (terraform-registry-address).
var (
	registryName   = lazyregexp.New(`^[0-9A-Za-z](?:[0-9A-Za-z-_]{0,62}[0-9A-Za-z])?$`)
	registrySystem = lazyregexp.New(`^[0-9a-z]{1,64}$`)
	registryHost   = lazyregexp.New(`^[0-9A-Za-z.-]{1,253}(?::[0-9]{1,5})?$`)
)

const sourceForms = "write ./PATH for a directory of the repository, NAMESPACE/NAME/SYSTEM for a registry, " +
	"git::https://HOST/PATH?ref=TAG, or https://HOST/PATH.zip"

// parseSource parses the source of a module call that is not a local path.
func parseSource(source string, tool Tool) (address, error) {
	if err := checkText(source, maxSource); err != nil {
		return address{}, err
	}
	found, err := parseRegistry(source, tool)
	if err != nil || found.registry != nil {
		return found, err
	}
	return parseRemote(source, false)
}

func checkText(source string, most int) error {
	strange := func(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) }
	switch {
	case len(source) > most:
		return problemf("shorten it", "the source is longer than %d bytes", most)
	case !utf8.ValidString(source) || strings.ContainsFunc(source, strange):
		return problemf("remove what cannot be seen", "the source has a character that no address has")
	case strings.Contains(source, "${"):
		return problemf("write the address in full", "the source is an expression, which is not known at build")
	}
	return nil
}

// splitSubdir cuts the directory in the package out of an address: "x//dir?query" is "x?query" and
// "dir".
func splitSubdir(source string) (rest, subdir string, err error) {
	body, query, hasQuery := strings.Cut(source, "?")
	start := 0
	if i := strings.Index(body, "://"); i >= 0 {
		start = i + len("://")
	}
	rest = body
	if i := strings.Index(body[start:], "//"); i >= 0 {
		rest, subdir = body[:start+i], strings.Trim(body[start+i+2:], "/")
	}
	if subdir != "" {
		clean := path.Clean(subdir)
		if clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(subdir, `\`) {
			return "", "", problemf("name a directory inside the package",
				"the directory %s behind // leads out of the package", diagnostic.Quote(subdir))
		}
		if subdir = clean; subdir == "." {
			subdir = ""
		}
	}
	if hasQuery {
		rest += "?" + query
	}
	return rest, subdir, nil
}

// vcsHosts are hosts of repositories that cannot be module registries.
var vcsHosts = map[string]bool{"github.com": true, "bitbucket.org": true, "gitlab.com": true}

// parseRegistry parses a registry address. It returns the zero address for sources of another form.
func parseRegistry(source string, tool Tool) (address, error) {
	if strings.Contains(source, "::") || strings.ContainsAny(source, "?@") {
		return address{}, nil
	}
	rest, subdir, err := splitSubdir(source)
	parts := strings.Split(rest, "/")
	if len(parts) != 3 && len(parts) != 4 || vcsHosts[strings.ToLower(parts[0])] {
		return address{}, nil
	}
	host := tool.defaultHost()
	if len(parts) == 4 {
		if !registryHost.MatchString(parts[0]) || !strings.Contains(parts[0], ".") {
			return address{}, nil
		}
		host, parts = strings.TrimSuffix(strings.ToLower(parts[0]), ":443"), parts[1:]
	}
	if !registryName.MatchString(parts[0]) || !registryName.MatchString(parts[1]) ||
		!registrySystem.MatchString(parts[2]) {
		return address{}, nil
	}
	if err != nil {
		return address{}, err
	}
	return address{subdir: subdir, registry: &registryAddress{
		host: host, namespace: parts[0], name: parts[1], system: parts[2]}}, nil
}

// parseRemote parses an address of a repository or an archive. granted is true for an address that a
// registry returned, which may hold its own credential.
func parseRemote(source string, granted bool) (address, error) {
	if err := checkText(source, maxLocationText); err != nil {
		return address{}, err
	}
	forced, rest, is := strings.Cut(source, "::")
	if !is || strings.ContainsAny(forced, "/?@:") {
		forced, rest = "", source
	}
	rest, subdir, err := splitSubdir(rest)
	if err != nil {
		return address{}, err
	}
	found := address{subdir: subdir}
	switch {
	case forced == "git":
		found.git, err = parseGit(rest, granted)
	case forced == "https" || forced == "http":
		found.web, err = parseWeb(rest, granted)
	case forced == "s3" || forced == "gcs" || forced == "hg" || forced == "file" || forced != "":
		err = problemf("publish the module in a git repository, in a registry or as an https archive",
			"modules are not read with %s::", oneLine(forced))
	default:
		found, err = parseUnforced(rest, subdir, granted)
	}
	return found, err
}

// parseUnforced parses an address without a "name::" in front.
func parseUnforced(source, subdir string, granted bool) (found address, err error) {
	found.subdir = subdir
	scheme, _, written := strings.Cut(source, "://")
	switch {
	case written && (scheme == "https" || scheme == "http"):
		found.web, err = parseWeb(source, granted)
	case written && (scheme == "ssh" || strings.HasSuffix(scheme, "+ssh")):
		err = problemf("write git:: in front of it", "an ssh:// address is only read as a git repository")
	case strings.HasPrefix(source, "oci:"):
		err = problemf("publish the module in a git repository, in a registry or as an https archive",
			"modules are not read from OCI registries")
	case written:
		err = problemf(sourceForms, "addresses with %s:// are not read", oneLine(scheme))
	case strings.HasPrefix(source, "github.com/"), strings.HasPrefix(source, "bitbucket.org/"):
		found.git, err = parseForge(source, granted)
	case scpForm.MatchString(source):
		found.git, err = parseGit(source, granted)
	case strings.HasPrefix(source, "/"):
		err = problemf("put the module into the repository and call it as ./PATH or ../PATH",
			"the source is a path of one machine")
	case strings.HasPrefix(source, "gitlab.com/"):
		err = problemf("write git::https://"+oneLine(source)+".git", "Terraform does not know this form for gitlab.com")
	case strings.HasPrefix(source, "."):
		err = problemf("write ./ or ../ in front of the path", "the source is no path that Terraform reads")
	default:
		err = problemf(sourceForms, "this is no source that Terraform knows")
	}
	return found, err
}

// parseForge parses "github.com/OWNER/NAME" and "bitbucket.org/OWNER/NAME".
func parseForge(source string, granted bool) (*gitAddress, error) {
	body, query, _ := strings.Cut(source, "?")
	parts := strings.Split(body, "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return nil, problemf("write "+parts[0]+"/OWNER/REPOSITORY//DIRECTORY", "the source names no repository of %s",
			parts[0])
	}
	if !strings.HasSuffix(body, ".git") {
		body += ".git"
	}
	if query != "" {
		body += "?" + query
	}
	return parseGit("https://"+body, granted)
}

// scpForm matches an ssh address such as git@github.com:owner/name.
var scpForm = lazyregexp.New(`^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+):([^:?][^?]*)(\?.*)?$`)

const gitForms = "write git::https://HOST/PATH?ref=TAG or git::ssh://git@HOST/PATH?ref=TAG"

func parseGit(source string, granted bool) (*gitAddress, error) {
	if match := scpForm.FindStringSubmatch(source); match != nil && !strings.Contains(source, "://") {
		source = "ssh://" + match[1] + "@" + match[2] + "/" + strings.TrimPrefix(match[3], "/") + match[4]
	} else if !strings.Contains(source, "://") {
		// git::github.com/owner/name
		if !strings.HasPrefix(source, "github.com/") && !strings.HasPrefix(source, "bitbucket.org/") {
			return nil, problemf(gitForms, "the source names no git server")
		}
		return parseForge(source, granted)
	}
	at, err := parseURL(source, granted)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return nil, problemf(gitForms, "what follows ? cannot be read")
	}
	found := &gitAddress{url: at, ref: query.Get("ref")}
	for key := range query {
		switch key {
		case "ref", "depth": // the history is never fetched
		case "sshkey":
			return nil, problemf("remove it and add a credential with the key", "the source holds an ssh key")
		default:
			return nil, problemf("remove it", "a git source has no %s=, only ref= and depth=", oneLine(key))
		}
	}
	at.RawQuery, at.ForceQuery = "", false
	switch {
	case at.Scheme == "git+ssh" || at.Scheme == "ssh+git":
		at.Scheme = "ssh"
	case at.Scheme != "https" && at.Scheme != "http" && at.Scheme != "ssh":
		return nil, problemf(gitForms, "repositories are read over https and ssh, not over %s", oneLine(at.Scheme))
	}
	if strings.Trim(at.Path, "/") == "" {
		return nil, problemf(gitForms, "the source names a server and no repository")
	}
	if ref := found.ref; len(query["ref"]) > 1 || len(ref) > 255 || strings.HasPrefix(ref, "-") {
		return nil, problemf("write ?ref= once, with a branch, a tag or a commit", "the ref is none that git knows")
	}
	return found, nil
}

// parseURL parses the URL of a server.
func parseURL(source string, granted bool) (*url.URL, error) {
	at, err := url.Parse(source)
	if err != nil || at.Hostname() == "" || at.Opaque != "" {
		return nil, problemf(sourceForms, "the source is not a URL")
	}
	at.Fragment, at.RawFragment = "", ""
	_, password := at.User.Password()
	if at.User != nil && !granted && (password || !strings.Contains(at.Scheme, "ssh")) {
		return nil, problemf("remove it and add a credential with \"nuon credentials create\"",
			"the source holds a user name or a password, which everybody who reads the app would see")
	}
	for _, step := range strings.Split(at.Path, "/") {
		if step == ".." {
			return nil, problemf("write the path without it", "the source has .. in its path")
		}
	}
	return at, nil
}

// formats are the archive formats by file extension, as Terraform recognizes them.
var formats = []struct{ extension, format string }{
	{".tar.gz", "tar.gz"}, {".tgz", "tar.gz"}, {".tar.xz", "tar.xz"}, {".txz", "tar.xz"},
	{".tar.bz2", "tar.bz2"}, {".tbz2", "tar.bz2"}, {".tar.zst", "tar.zst"}, {".tzst", "tar.zst"},
	{".tar", "tar"}, {".zip", "zip"},
}

func parseWeb(source string, granted bool) (*webAddress, error) {
	at, err := parseURL(source, granted)
	if err != nil {
		return nil, err
	}
	if at.Scheme == "http" && !isThisMachine(at.Hostname()) {
		return nil, problemf("write https://", "modules are read over https only")
	}
	query := at.Query()
	if !granted {
		for key := range query {
			if secretKey.MatchString(key) {
				return nil, problemf("remove it and add a credential with \"nuon credentials create\"",
					"the source holds a credential (%s=), which everybody who reads the app would see", oneLine(key))
			}
		}
	}
	found := &webAddress{url: at, checksum: query.Get("checksum")}
	switch wanted := query.Get("archive"); {
	case wanted == "false":
		return nil, problemf("remove it and name an archive", "a module is a directory and archive=false a single file")
	case wanted != "":
		if found.format = formatOf("." + wanted); found.format == "" {
			return nil, problemf("write zip, tar.gz, tar.xz, tar.bz2, tar.zst or tar",
				"archives of the form %s are not read", diagnostic.Quote(wanted))
		}
	default:
		found.format = formatOf(at.Path)
	}
	if strings.HasSuffix(at.Path, ".git") && found.format == "" {
		return nil, problemf("write git:: in front of it", "the source is a git repository's address without git::")
	}
	for _, key := range []string{"archive", "checksum", "filename"} {
		query.Del(key)
	}
	if at.Query().Has("archive") || at.Query().Has("checksum") || at.Query().Has("filename") {
		at.RawQuery = query.Encode() // the server gets the rest, unchanged where none of them is there
	}
	return found, nil
}

func formatOf(name string) string {
	for _, one := range formats {
		if strings.HasSuffix(strings.ToLower(name), one.extension) {
			return one.format
		}
	}
	return ""
}

// secretKey matches the query keys with which servers take credentials.
var secretKey = lazyregexp.New(
	`(?i)(token|secret|passw|api_?key|signature|credential|^sig$|^auth$|^key$|^jwt$|access_key)`)

// isThisMachine reports whether the host of a URL is this machine. It resolves no name.
func isThisMachine(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
