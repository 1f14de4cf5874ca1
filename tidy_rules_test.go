package runnel_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is one parsed Go file.
type source struct {
	path, dir string // relative to the module, with forward slashes
	test      bool
	fset      *token.FileSet
	file      *ast.File
	lines     int // all lines
	code      int // lines with a token on them
	comments  int // lines with nothing but a comment
}

func (f *source) main() bool { return f.file.Name.Name == "main" }

// pos is where n starts, as file:line.
func (f *source) pos(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, f.fset.Position(n.Pos()).Line)
}

// find makes the finding for the thing called name at n.
func (f *source) find(n ast.Node, name, format string, args ...any) finding {
	return finding{pos: f.pos(n), at: f.path + ":" + name, text: fmt.Sprintf(format, args...)}
}

// pkg is the Go files of one folder, tests included.
type pkg struct {
	dir   string
	files []*source
}

// testHelper reports whether the package exists for tests only.
func (p *pkg) testHelper() bool { return strings.HasSuffix(p.dir, "test") }

// production is the files that are shipped.
func (p *pkg) production() []*source {
	var files []*source
	for _, f := range p.files {
		if !f.test {
			files = append(files, f)
		}
	}
	return files
}

// finding is one broken rule: where, which entry of the exceptions would allow it, what and the limit.
type finding struct {
	pos, at, text string
	always        bool // an exception does not help
}

// ban forbids selectors of an imported package in the files it applies to.
type ban struct {
	path    string
	names   string // regular expression on the selected name
	applies func(*source) bool
	why     string
}

// within reports whether dir is root or lies below it.
func within(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

// load parses every Go file below root, whatever its build tags, one pkg per folder.
func load(root string) ([]*pkg, error) {
	byDir := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "testdata" || n == "vendor" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parse(filepath.ToSlash(name), b)
		if err != nil {
			return err
		}
		if byDir[f.dir] == nil {
			byDir[f.dir] = &pkg{dir: f.dir}
		}
		byDir[f.dir].files = append(byDir[f.dir].files, f)
		return nil
	})
	var pkgs []*pkg
	for _, p := range byDir {
		pkgs = append(pkgs, p)
	}
	slices.SortFunc(pkgs, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return pkgs, err
}

// parse reads one file and counts its lines.
func parse(name string, src []byte) (*source, error) {
	f := &source{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
	var err error
	f.file, err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	code, comment := map[int]bool{}, map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		set := code
		if tok == token.COMMENT {
			set = comment
		}
		first := file.Line(pos)
		for i := range strings.Count(strings.TrimSuffix(lit, "\n"), "\n") + 1 {
			set[first+i] = true
		}
	}
	f.lines = strings.Count(string(src), "\n")
	f.code = len(code)
	for l := range comment {
		if !code[l] {
			f.comments++
		}
	}
	return f, nil
}

// importsOf holds a package to its row of the import table.
func importsOf(p *pkg) []finding {
	i := slices.IndexFunc(layers, func(l layer) bool { return l.pkg == p.dir })
	if i < 0 {
		return []finding{{pos: p.files[0].path, at: p.dir, text: p.dir + " has no row in the import table of tidy_test.go"}}
	}
	row := layers[i]
	var found []finding
	for _, f := range p.files {
		ours, libs := strings.Fields(row.ours), strings.Fields(row.libs)
		if f.test {
			ours = append(ours, strings.Fields(testMay+" "+p.dir)...)
			for _, l := range layers {
				libs = append(libs, strings.Fields(l.libs)...)
			}
		}
		for _, spec := range f.file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if !mayImport(imp, ours, libs) {
				found = append(found, f.find(spec, imp, "%s may not import %s (its row: %q, %q)", p.dir, imp, row.ours, row.libs))
			}
		}
	}
	return found
}

func mayImport(imp string, ours, libs []string) bool {
	first, rest, _ := strings.Cut(imp, "/")
	switch {
	case first == "runnel":
		return slices.Contains(ours, rest)
	case strings.Contains(first, "."):
		return slices.ContainsFunc(libs, func(l string) bool { return within(imp, l) })
	}
	return true // the standard library
}

func fileLength(p *pkg) []finding {
	var found []finding
	for _, f := range p.files {
		limit := fileLines
		if f.test {
			limit = testFileLines
		}
		if f.lines > limit {
			found = append(found, finding{pos: f.path, at: f.path, text: fmt.Sprintf("%d lines, the limit is %d", f.lines, limit)})
		}
	}
	return found
}

// packageLength stands in for "files that all reach one another".
func packageLength(p *pkg) []finding {
	sum := 0
	for _, f := range p.production() {
		sum += f.lines
	}
	if sum <= packageLines {
		return nil
	}
	return []finding{{pos: p.dir, at: p.dir, text: fmt.Sprintf("the package has %d lines, the limit is %d: split it", sum, packageLines)}}
}

// eachFunc calls do for every function declaration with a body in the shipped files.
func eachFunc(p *pkg, do func(*source, *ast.FuncDecl)) {
	for _, f := range p.production() {
		for _, d := range f.file.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
				do(f, fd)
			}
		}
	}
}

func funcLength(p *pkg) []finding {
	var found []finding
	eachFunc(p, func(f *source, fd *ast.FuncDecl) {
		n := f.fset.Position(fd.End()).Line - f.fset.Position(fd.Pos()).Line + 1
		if n > funcLines {
			g := f.find(fd, fd.Name.Name, "%s has %d lines, the limit is %d (%d for a listed exception)", fd.Name.Name, n, funcLines, funcLinesExcepted)
			g.always = n > funcLinesExcepted
			found = append(found, g)
		}
	})
	return found
}

func nesting(p *pkg) []finding {
	var found []finding
	eachFunc(p, func(f *source, fd *ast.FuncDecl) {
		level, at := deepest(fd.Body)
		if level > nestingLevels {
			found = append(found, f.find(at, fd.Name.Name, "%s nests %d deep here, the limit is %d", fd.Name.Name, level, nestingLevels))
		}
	})
	return found
}

// deepest finds the most nested statement: each if, loop, switch, select and function literal is a
// level; the branches of one if chain are one level.
func deepest(body ast.Node) (int, ast.Node) {
	most, at := 0, body
	var stack []bool // for each open node, whether it is a level
	level := 0
	elses := map[ast.Node]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			if stack[len(stack)-1] {
				level--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		opens := false
		switch n := n.(type) {
		case *ast.IfStmt:
			opens = !elses[n]
			if n.Else != nil {
				elses[n.Else] = true
			}
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			opens = true
		}
		if opens {
			level++
			if level > most {
				most, at = level, n
			}
		}
		stack = append(stack, opens)
		return true
	})
	return most, at
}

func structSize(p *pkg) []finding {
	var found []finding
	for _, f := range p.production() {
		ast.Inspect(f.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			name := spec.Name.Name
			if !ok || strings.Contains(name, "Config") || path.Base(p.dir) == "config" || strings.Contains(name, "Options") {
				return true
			}
			if n := st.Fields.NumFields(); n > structFields {
				found = append(found, f.find(spec, name, "%s has %d fields, the limit is %d", name, n, structFields))
			}
			return true
		})
	}
	return found
}

func unlocks(p *pkg) []finding {
	var found []finding
	eachFunc(p, func(f *source, fd *ast.FuncDecl) {
		n := 0
		ast.Inspect(fd.Body, func(node ast.Node) bool {
			if _, ok := node.(*ast.DeferStmt); ok {
				return false
			}
			if call, ok := node.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Unlock" || sel.Sel.Name == "RUnlock") {
					n++
				}
			}
			return true
		})
		if n > bareUnlocks {
			found = append(found, f.find(fd, fd.Name.Name, "%s unlocks by hand %d times, the limit is %d: split it or defer", fd.Name.Name, n, bareUnlocks))
		}
	})
	return found
}

// packageState finds package variables that change, and init functions.
func packageState(p *pkg) []finding {
	if p.testHelper() {
		return nil
	}
	vars := map[string]bool{}
	var found []finding
	for _, f := range p.production() {
		for _, d := range f.file.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Name.Name == "init" && fd.Recv == nil {
				found = append(found, f.find(fd, "init", "an init function: start things where they are used"))
			}
			gd, ok := d.(*ast.GenDecl)
			if !ok || gd.Tok != token.VAR {
				continue
			}
			for _, s := range gd.Specs {
				spec := s.(*ast.ValueSpec)
				for _, n := range spec.Names {
					vars[n.Name] = true
				}
				if why := mutableKind(spec); why != "" {
					found = append(found, f.find(spec, spec.Names[0].Name, "package variable %s %s: give it an owner", spec.Names[0].Name, why))
				}
			}
		}
	}
	for _, f := range p.production() {
		imports := importNames(f)
		for _, d := range f.file.Decls {
			found = append(found, changes(f, d, vars, imports)...)
		}
	}
	return found
}

// mutableKind says why a variable of this declaration can only be meant to change.
func mutableKind(spec *ast.ValueSpec) string {
	why := ""
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if ok && (id.Name == "sync" || id.Name == "atomic") && !strings.HasPrefix(n.Sel.Name, "OnceValue") {
				why = "holds " + id.Name + "." + n.Sel.Name
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "make" {
				why = "is made empty, to be filled later"
			}
		case *ast.ChanType:
			why = "is a channel"
		}
		return true
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, look)
	}
	for _, v := range spec.Values {
		ast.Inspect(v, look)
	}
	return why
}

// changes finds the places in d that change one of the package's vars or another package's variable.
func changes(f *source, d ast.Decl, vars map[string]bool, imports map[string]string) []finding {
	var found []finding
	local := localNames(d)
	changed := func(e ast.Expr) {
		id, sel := root(e)
		switch {
		case id == nil || local[id.Name]:
		case imports[id.Name] != "" && sel != "":
			found = append(found, f.find(e, id.Name, "%s.%s of another package is changed", id.Name, sel))
		case vars[id.Name]:
			found = append(found, f.find(e, id.Name, "package variable %s is changed here: give it an owner", id.Name))
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					changed(e)
				}
			}
		case *ast.IncDecStmt:
			changed(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				changed(n.Key)
			}
		case *ast.UnaryExpr:
			if id, ok := n.X.(*ast.Ident); ok && n.Op == token.AND {
				changed(id)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") {
				changed(n.Args[0])
			}
		}
		return true
	})
	return found
}

// root is the identifier that an assignable expression starts from, and the first name selected from it.
func root(e ast.Expr) (id *ast.Ident, selected string) {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x, selected
		case *ast.SelectorExpr:
			e, selected = x.X, x.Sel.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil, ""
		}
	}
}

// localNames is every name that d declares inside: a name in it is not taken for the package's.
func localNames(d ast.Decl) map[string]bool {
	local := map[string]bool{"_": true}
	if _, ok := d.(*ast.FuncDecl); !ok {
		return local
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						local[id.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[id.Name] = true
				}
			}
		}
		return true
	})
	return local
}

// importNames maps the names under which f knows its imports to their paths.
func importNames(f *source) map[string]string {
	names := map[string]string{}
	for _, spec := range f.file.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imp)
		if regexp.MustCompile(`^v\d+$`).MatchString(name) {
			name = path.Base(path.Dir(imp))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imp
	}
	return names
}

func packageComment(p *pkg) []finding {
	files := p.production()
	if len(files) == 0 {
		files = p.files
	}
	for _, f := range files {
		if f.file.Doc != nil {
			return nil
		}
	}
	return []finding{{pos: files[0].path, at: p.dir, text: p.dir + " has no package comment"}}
}

// documented counts the exported functions, methods, types, constants and variables with a comment.
func documented(p *pkg) []finding {
	var missing []string
	all := 0
	count := func(f *source, n ast.Node, name string, has bool) {
		all++
		if !has {
			missing = append(missing, f.pos(n)+" "+name)
		}
	}
	for _, f := range p.production() {
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					count(f, d, d.Name.Name, d.Doc != nil)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					for _, name := range exportedNames(s) {
						count(f, s, name, d.Doc != nil || hasComment(s))
					}
				}
			}
		}
	}
	if all == 0 || (all-len(missing))*100 >= documentedPercent*all {
		return nil
	}
	return []finding{{pos: p.dir, at: p.dir, text: fmt.Sprintf("%d of %d exported names are documented, want %d%%; missing:\n\t%s",
		all-len(missing), all, documentedPercent, strings.Join(missing, "\n\t"))}}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, _ := root(t)
	return id != nil && id.IsExported()
}

func exportedNames(s ast.Spec) []string {
	var names []string
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

func hasComment(s ast.Spec) bool {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Doc != nil || s.Comment != nil
	case *ast.ValueSpec:
		return s.Doc != nil || s.Comment != nil
	}
	return false
}

func commentShare(p *pkg) []finding {
	code, comments := 0, 0
	for _, f := range p.production() {
		code += f.code
		comments += f.comments
	}
	if code < commentsFromLines {
		return nil
	}
	share := 100 * comments / (code + comments)
	if share >= commentPercentMin && share <= commentPercentMax {
		return nil
	}
	return []finding{{pos: p.dir, at: p.dir, text: fmt.Sprintf("%d%% of the lines are comments, want %d to %d%%", share, commentPercentMin, commentPercentMax)}}
}

func banned(p *pkg) []finding {
	var found []finding
	for _, f := range p.files {
		if p.testHelper() {
			continue
		}
		imports := importNames(f)
		ast.Inspect(f.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || imports[id.Name] == "" {
				return true
			}
			for _, b := range bans {
				if b.path == imports[id.Name] && b.applies(f) && regexp.MustCompile(b.names).MatchString(sel.Sel.Name) {
					found = append(found, f.find(sel, sel.Sel.Name, "%s.%s: %s", b.path, sel.Sel.Name, b.why))
				}
			}
			return true
		})
	}
	return found
}

// sleeps finds time.Sleep in tests, but for the virtual time of a synctest bubble.
func sleeps(p *pkg) []finding {
	var found []finding
	for _, f := range p.files {
		if !f.test && !p.testHelper() {
			continue
		}
		imports := importNames(f)
		ast.Inspect(f.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			switch {
			case !ok:
			case id.Name == "synctest":
				return false
			case imports[id.Name] == "time" && sel.Sel.Name == "Sleep":
				found = append(found, f.find(call, "Sleep", "time.Sleep in a test: wait for the condition, or use testing/synctest"))
			}
			return true
		})
	}
	return found
}

func fileNames(p *pkg) []finding {
	var found []finding
	add := func(pos, name string) {
		if forbiddenNames.MatchString(name) {
			found = append(found, finding{pos: pos, at: pos, text: name + " says nothing about what is inside"})
		}
	}
	for _, f := range p.files {
		name := strings.TrimSuffix(path.Base(f.path), ".go")
		add(f.path, strings.TrimSuffix(name, "_test"))
	}
	for folder := range strings.SplitSeq(p.dir, "/") {
		add(p.dir, folder)
		if forbiddenFolders.MatchString(folder) {
			found = append(found, finding{pos: p.dir, at: p.dir, text: "no folder named " + folder + ": the import table says who may import what"})
		}
	}
	return found
}
