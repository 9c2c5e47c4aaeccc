package runner

// PlainBody exports plainBody to the fuzz test.
var PlainBody = plainBody
