package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"
)

// behavior is what a resource does whose provider has no cloud behind it: Terraform's state is all
// that there is of its objects.
type behavior struct {
	// create sets computed values. fill determines those that it leaves unknown.
	create func(*filler) error
	// exists reports whether the object still exists; nil means that it does.
	exists func(state object) bool
	// remove removes what create made outside of the state; nil means nothing.
	remove func(state object) error
}

// behaviors are the resources without a cloud, by type.
var behaviors = map[string]*behavior{
	"null_resource":           {create: func(f *filler) error { return f.setID(f.digits(19)) }},
	"random_bytes":            {create: createRandomID},
	"random_id":               {create: createRandomID},
	"random_integer":          {create: createRandomInteger},
	"random_password":         {create: createRandomString},
	"random_pet":              {create: createRandomPet},
	"random_shuffle":          {create: createRandomShuffle},
	"random_string":           {create: createRandomString},
	"random_uuid":             {create: createRandomUUID},
	"time_offset":             {create: createTime},
	"time_rotating":           {create: createTime},
	"time_sleep":              {create: func(f *filler) error { return f.setID(time.Now().UTC().Format(time.RFC3339)) }},
	"time_static":             {create: createTime},
	"tls_private_key":         {create: createPrivateKey},
	"tls_cert_request":        {create: createCertRequest},
	"tls_self_signed_cert":    {create: createSelfSigned},
	"tls_locally_signed_cert": {create: createLocallySigned},
	"local_file":              {create: createLocalFile, exists: hasLocalFile, remove: removeLocalFile},
	"local_sensitive_file":    {create: createLocalFile, exists: hasLocalFile, remove: removeLocalFile},
	"archive_file":            {create: writeArchive},
	"cloudinit_config":        {create: renderCloudinit},
}

func (f *filler) setID(id string) error {
	f.top["id"] = id
	return nil
}

// generator returns a random generator that the seed determines.
func (f *filler) generator() *mathrand.Rand {
	raw, _ := hex.DecodeString(f.seed) // it is hexadecimal
	return mathrand.New(mathrand.NewChaCha8([32]byte(raw)))
}

// digits returns decimal digits, of which the first is not 0.
func (f *filler) digits(n int) string {
	random := f.generator()
	made := []byte{byte('1' + random.IntN(9))}
	for len(made) < n {
		made = append(made, byte('0'+random.IntN(10)))
	}
	return string(made)
}

func createRandomID(f *filler) error {
	length := max(asInt(f.top["byte_length"], 0), asInt(f.top["length"], 0), 1)
	raw := make([]byte, length)
	random := f.generator()
	for i := range raw {
		raw[i] = byte(binary.LittleEndian.Uint16([]byte{byte(random.Uint32()), 0}))
	}
	prefix := asText(f.top["prefix"])
	for name, text := range map[string]string{
		"hex": prefix + hex.EncodeToString(raw), "b64_std": prefix + base64.StdEncoding.EncodeToString(raw),
		"b64_url": prefix + base64.RawURLEncoding.EncodeToString(raw), "base64": base64.StdEncoding.EncodeToString(raw),
		"dec": prefix + new(big.Int).SetBytes(raw).String(), "id": base64.RawURLEncoding.EncodeToString(raw),
	} {
		if f.schema.Attributes[name] != nil {
			f.top[name] = text
		}
	}
	return nil
}

func createRandomUUID(f *filler) error {
	f.top["result"] = uuid(f.seed)
	return f.setID(uuid(f.seed))
}

func createRandomInteger(f *filler) error {
	low, high := asInt(f.top["min"], 0), asInt(f.top["max"], 0)
	if high < low {
		return fmt.Errorf("the minimum value %d is higher than the maximum value %d", low, high)
	}
	result := asNumber(low + f.generator().IntN(high-low+1))
	f.top["result"] = result
	return f.setID(result.String())
}

const (
	lowers   = "abcdefghijklmnopqrstuvwxyz"
	uppers   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	numerals = "0123456789"
	specials = "!@#$%&*()-_=+[]{}<>:?"
)

// createRandomString makes a text of the allowed characters, with the required number of each class.
func createRandomString(f *filler) error {
	random, result, all := f.generator(), []byte{}, ""
	special := firstText(asText(f.top["override_special"]), specials)
	for _, class := range []struct{ name, characters string }{
		{"lower", lowers}, {"upper", uppers}, {"numeric", numerals}, {"special", special},
	} {
		if f.top[class.name] == false || class.name == "numeric" && f.top["number"] == false {
			continue
		}
		all += class.characters
		for range asInt(f.top["min_"+class.name], 0) {
			result = append(result, class.characters[random.IntN(len(class.characters))])
		}
	}
	length := asInt(f.top["length"], 0)
	if all == "" || len(result) > length {
		return fmt.Errorf("no text of length %d has the required characters", length)
	}
	for len(result) < length {
		result = append(result, all[random.IntN(len(all))])
	}
	random.Shuffle(length, func(i, j int) { result[i], result[j] = result[j], result[i] })
	f.top["result"] = string(result)
	if f.typ == "random_string" {
		return f.setID(string(result))
	}
	f.top["bcrypt_hash"] = "$2a$10$" + strings.NewReplacer("+", ".", "=", "").Replace(
		base64.StdEncoding.EncodeToString([]byte(f.seed)))[:53]
	return f.setID("none")
}

var (
	petAdjectives = []string{"able", "bold", "calm", "eager", "fair", "glad", "keen", "lucky", "merry", "neat", "proud",
		"quick", "sunny", "warm", "wise", "witty"}
	petNames = []string{"ant", "bear", "crane", "duck", "eagle", "fox", "goat", "heron", "ibex", "jay", "koala", "lion",
		"mole", "newt", "otter", "panda"}
)

func createRandomPet(f *filler) error {
	random := f.generator()
	words := []string{}
	if prefix := asText(f.top["prefix"]); prefix != "" {
		words = append(words, prefix)
	}
	for range asInt(f.top["length"], 2) - 1 {
		words = append(words, petAdjectives[random.IntN(len(petAdjectives))])
	}
	words = append(words, petNames[random.IntN(len(petNames))])
	return f.setID(strings.Join(words, firstText(asText(f.top["separator"]), "-")))
}

func createRandomShuffle(f *filler) error {
	result := slices.Clone(asList(f.top["input"]))
	f.generator().Shuffle(len(result), func(i, j int) { result[i], result[j] = result[j], result[i] })
	f.top["result"] = result[:min(len(result), asInt(f.top["result_count"], len(result)))]
	return f.setID("-")
}

// createTime sets the parts of a time: now, or the given one with its offset.
func createTime(f *filler) error {
	given := firstText(asText(f.top["base_rfc3339"]), asText(f.top["rfc3339"]), time.Now().UTC().Format(time.RFC3339))
	base, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return err
	}
	result := base
	switch f.typ {
	case "time_offset":
		f.top["base_rfc3339"], result = given, f.shift(base, "offset_")
	case "time_rotating":
		if f.top["rotation_rfc3339"] == unknown || f.top["rotation_rfc3339"] == nil {
			f.top["rotation_rfc3339"] = f.shift(base, "rotation_").Format(time.RFC3339)
		}
	}
	f.top["rfc3339"], f.top["unix"] = result.Format(time.RFC3339), asNumber(int(result.Unix()))
	for name, number := range map[string]int{"year": result.Year(), "month": int(result.Month()), "day": result.Day(),
		"hour": result.Hour(), "minute": result.Minute(), "second": result.Second()} {
		f.top[name] = asNumber(number)
	}
	return f.setID(given)
}

func (f *filler) shift(from time.Time, prefix string) time.Time {
	number := func(unit string) int { return asInt(f.top[prefix+unit], 0) }
	return from.AddDate(number("years"), number("months"), number("days")).Add(
		time.Duration(number("hours"))*time.Hour + time.Duration(number("minutes"))*time.Minute +
			time.Duration(number("seconds"))*time.Second)
}

// randomSerial returns the serial number of a certificate.
func randomSerial() *big.Int {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // it never fails
	return new(big.Int).SetBytes(raw)
}
