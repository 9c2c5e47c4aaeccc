package control

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

// wellFormed refuses a request with a text that Postgres cannot store, anywhere in it: a NUL
// character or invalid UTF-8. No record has such a name, so no query needs to handle one. It also
// refuses a query string that parses only in part, because a lost filter would show more than was
// requested.
func wellFormed(next StrictHandlerFunc, _ string) StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			return nil, problem.New(http.StatusBadRequest, "bad_request",
				"the query of the URL is invalid", "Escape % as %25.")
		}
		if !storable(reflect.ValueOf(request)) {
			return nil, problem.New(http.StatusBadRequest, "bad_request",
				"a string in the request contains a NUL character or is not UTF-8", "Leave it out.")
		}
		return next(ctx, w, r, request)
	}
}

// storable checks a decoded request recursively: structs of texts, numbers, lists and maps. Byte
// slices may have any content.
func storable(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String()) && !strings.ContainsRune(v.String(), 0)
	case reflect.Pointer:
		return v.IsNil() || storable(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !storable(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		for i := range v.Len() {
			if !storable(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if !storable(key) || !storable(value) {
				return false
			}
		}
	default: // numbers, and the body of an upload, which is not text
	}
	return true
}
