package tfmodule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The HCL parser recurses without a limit: half a megabyte of "!" overflows the stack, which ends
// the process and cannot be recovered from. So every file is first split into tokens, which needs
// no recursion, and the tokens are counted.
const (
	// maxNesting is the maximum nesting of brackets in a file that is well formed. In one that is not, the parser
	// passes over closing brackets that count as such here, so openers also count as operators.
	maxNesting = 200
	// maxPrefixes is the maximum number of consecutive "!" and "-".
	maxPrefixes = 100
	// maxOperators is the maximum number of operators, opening brackets and template parts in a file. A
	// chain of them becomes a tree as deep as the chain is long.
	maxOperators = 50_000
)

// checkDepth rejects a file whose parsing or evaluation would recurse too deeply.
func checkDepth(name string, content []byte) error {
	if strings.HasSuffix(name, ".json") {
		return checkJSONDepth(name, content)
	}
	// Errors in the tokens are ignored, because the parser has better messages for them.
	tokens, _ := hclsyntax.LexConfig(content, name, hcl.InitialPos)
	return new(nesting).count(name, tokens)
}

// checkJSONDepth also checks the strings, each of which may be a template.
func checkJSONDepth(name string, content []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	depth, counted := 0, new(nesting)
	at, seen := Position{File: name, Line: 1}, int64(0)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		at.Line += bytes.Count(content[seen:decoder.InputOffset()], []byte("\n"))
		seen = decoder.InputOffset()
		if err != nil {
			return fmt.Errorf("%s: this is not JSON: %w", at, err)
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			if depth > maxNesting {
				return fmt.Errorf("%s: brackets are nested more than %d deep; make it simpler", at, maxNesting)
			}
		case string:
			tokens, _ := hclsyntax.LexTemplate([]byte(token), name, hcl.Pos{Line: at.Line, Column: 1})
			if err := counted.count(name, tokens); err != nil {
				return err
			}
		}
	}
}

// nesting counts the tokens of one file.
type nesting struct {
	operators int // with opening brackets and template parts
}

func (n *nesting) count(name string, tokens hclsyntax.Tokens) error {
	depth, prefixes := 0, 0
	for _, token := range tokens {
		at := Position{File: name, Line: token.Range.Start.Line}
		if token.Type == hclsyntax.TokenBang || token.Type == hclsyntax.TokenMinus {
			if prefixes++; prefixes > maxPrefixes {
				return fmt.Errorf("%s: more than %d operators follow each other; make it simpler", at, maxPrefixes)
			}
		} else if token.Type != hclsyntax.TokenNewline && token.Type != hclsyntax.TokenComment {
			prefixes = 0
		}
		switch depthEffectOf(token.Type) {
		case opens:
			if token.Type != hclsyntax.TokenOQuote { // strings nest only with a template part in between
				n.operators++
			}
			if depth++; depth > maxNesting {
				return fmt.Errorf("%s: brackets are nested more than %d deep; make it simpler", at, maxNesting)
			}
		case closes:
			depth = max(depth-1, 0)
		case repeats:
			n.operators++
		}
		if n.operators > maxOperators {
			return fmt.Errorf("%s: more than %d operators and brackets are in this file; split it", at, maxOperators)
		}
	}
	return nil
}

// depthEffect is the effect of a kind of token on the depth of the parsed tree.
type depthEffect int

const (
	noEffect depthEffect = iota
	opens
	closes
	repeats
)

func depthEffectOf(kind hclsyntax.TokenType) depthEffect {
	switch kind {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
		return opens
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		return closes
	case hclsyntax.TokenTemplateControl:
		return repeats
	case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
		hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenBang, hclsyntax.TokenDot, hclsyntax.TokenQuestion:
		return repeats
	}
	return noEffect
}
