package lazyregexp

import "testing"

func TestExpressionsAreThoseOfTheStandardLibrary(t *testing.T) {
	r := New(`^a(b*)`)
	if !r.MatchString("abb") || r.MatchString("b") || r.String() != `^a(b*)` ||
		r.FindStringSubmatch("abb")[1] != "bb" ||
		r.FindAllStringSubmatch("abb", -1)[0][1] != "bb" || r.ReplaceAllString("abbc", "<$1>") != "<bb>c" {
		t.Error("an expression matches something else")
	}
}

func TestAWrongExpressionFailsInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was taken")
		}
	}()
	New("(")
}

func TestNothingIsCompiledBeforeItsUse(t *testing.T) {
	defer func() { inTest = true }()
	inTest = false
	New("(")
}
