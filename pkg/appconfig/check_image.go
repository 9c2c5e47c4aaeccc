package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// checkImage checks the source of an image: section 10.3.
func (c *checker) checkImage(comp *component) {
	var set []string
	for _, key := range []string{"public", "aws_ecr", "gcp_gar", "azure_acr"} {
		if has(comp.table, key) {
			set = append(set, key)
		}
	}
	switch {
	case len(set) == 0:
		c.errorf(ruleChooseOne, comp.table.At, "write a [public] table with image_url and tag",
			"[public], [aws_ecr], [gcp_gar] or [azure_acr] is missing")
	case len(set) > 1:
		c.errorf(ruleChooseOne, comp.table.KeyPosition(set[1]), "keep one of them",
			"both %s and %s are given", set[0], set[1])
	}
	for _, key := range set {
		c.checkImageURL(comp.table, key)
		c.checkImageVersion(comp.table, key)
	}
	if len(set) == 1 && set[0] != "public" {
		c.warnf(ruleNoEffectYet, comp.table.KeyPosition(set[0]),
			"store one for its registry: nuon credentials create NAME --image HOST",
			"nuon does not log in to registries of clouds yet: the image of %s is pulled with a stored credential, "+
				"or without one", set[0])
	}
	if required := comp.table.Find("verification.require_signature"); required != nil {
		if yes, _ := required.Flag(); yes {
			c.warnf(ruleNoEffectYet, required.At, "set it to false, and check signatures before you push",
				"signatures are not checked yet, so the image is not built while require_signature is true")
		}
	}
}

// checkImageVersion checks that an image has a tag or a policy that selects one.
func (c *checker) checkImageVersion(t *syntax.Table, key string) {
	tag, policy := t.Find(key+".tag"), t.Find(key+".update_policy")
	switch {
	case t.Get(key).Table() == nil: // reported already
	case tag == nil && policy == nil:
		c.errorf(ruleChooseOne, t.KeyPosition(key), `write tag = "2.3.1"`, "%s.tag or %s.update_policy is missing", key, key)
	case tag != nil && policy != nil:
		c.errorf(ruleChooseOne, t.KeyPosition(key+".update_policy"), "keep one of them",
			"both %s.tag and %s.update_policy are given", key, key)
	}
	if text, _ := policy.Text(); text != "" {
		if _, err := image.ParseConstraint(text); err != nil {
			c.errorf(ruleWrongValue, t.Position(key+".update_policy"), "write it like ~1.10.0 or ^2",
				"%s is no constraint of versions", diagnostic.Quote(text))
		}
	}
	if text, _ := tag.Text(); text != "" {
		if _, _, err := image.ParseTag(text); err != nil {
			c.errorf(ruleWrongValue, t.Position(key+".tag"), "", "%s is no tag of an image", diagnostic.Quote(text))
		}
	}
}

func (c *checker) checkImageURL(t *syntax.Table, key string) {
	url, _ := t.Find(key + ".image_url").Text()
	at := t.Position(key + ".image_url")
	_, plain, scheme := strings.Cut(url, "://")
	switch {
	case url == "" || validRepository(url):
	case scheme:
		c.errorf(ruleWrongValue, at, "write "+diagnostic.Quote(strings.TrimSuffix(plain, "/")),
			"image_url is an address with a scheme")
	case strings.ContainsAny(url, "@"), strings.LastIndexByte(url, ':') > strings.LastIndexByte(url, '/'):
		c.errorf(ruleWrongValue, at, "write the tag or digest as tag", "image_url has a tag or a digest of its own")
	default:
		c.errorf(ruleWrongValue, at, `write it like "ghcr.io/acme/ledger-api"`, "image_url is no address of an image")
	}
}

func validRepository(url string) bool {
	_, err := image.ParseRepository(url)
	return err == nil
}
