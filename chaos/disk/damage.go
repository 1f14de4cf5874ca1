package disk

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"runnel/chaos/process"
)

// A Form is a way in which a file is damaged.
type Form int

// The forms.
const (
	Flip     Form = iota // some bits are the other way round
	Truncate             // the end is missing
	RollBack             // a piece is as it was some time ago
	Empty                // it has no bytes
	Remove               // it is not there
)

// Forms is how many forms there are, from 0 on.
const Forms = 5

// String is the name of the form.
func (f Form) String() string {
	return [Forms]string{Flip: "flip", Truncate: "truncate", RollBack: "roll-back", Empty: "empty", Remove: "remove"}[f]
}

// FormOf is the form of a name.
func FormOf(name string) (Form, error) {
	for f := range Form(Forms) {
		if f.String() == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("files are not damaged by %q", name)
}

// What a disk reads and writes at once, and how much of a file rolls back at most.
const (
	pageBytes    = 4096
	rollPagesMax = 16
)

// flipsMax is how many bits are flipped at most, as a power of two.
const flipsMax = 5

// How lengths are distributed that are cut off: mostly a few bytes, sometimes nearly all.
const (
	zipfExponent = 1.1
	zipfOffset   = 1
)

// ErrNothing means that no file can be damaged in this way: there is none, or none has anything in it, or none has changed.
var ErrNothing = errors.New("there is nothing to damage")

// ErrUnchanged means that a piece cannot be as it was some time ago since all of it is: files that are written once do not roll back.
var ErrUnchanged = errors.New("nothing of it has changed, so nothing rolls back")

// A Damage is what was done to a file.
type Damage struct {
	File   string // below the folder
	Form   Form
	Offset int64 // where it begins
	Bytes  int64 // how many are missing or have been rolled back
	Bits   []Bit // that were flipped
}

// A Bit is one of a file that was flipped.
type Bit struct {
	Offset int64 // of its byte
	Mask   byte  // the bit in it
}

// String says what was done, to the byte.
func (d Damage) String() string {
	switch d.Form {
	case Flip:
		var bits []string
		for _, b := range d.Bits {
			bits = append(bits, fmt.Sprintf("%d:%02x", b.Offset, b.Mask))
		}
		return fmt.Sprintf("%s: bits flipped, byte:mask %s", d.File, strings.Join(bits, " "))
	case Truncate:
		return fmt.Sprintf("%s: cut at byte %d, %d are gone", d.File, d.Offset, d.Bytes)
	case RollBack:
		return fmt.Sprintf("%s: %d bytes from %d on are as they were some time ago", d.File, d.Bytes, d.Offset)
	case Empty:
		return fmt.Sprintf("%s: emptied, %d bytes are gone", d.File, d.Bytes)
	default: // Remove
		return fmt.Sprintf("%s: removed, with %d bytes", d.File, d.Bytes)
	}
}

// A Folder is where a server that is down keeps its streams.
type Folder struct {
	Dir     string
	Dialect process.Dialect
	// Older is a copy of the folder of some time ago, see [Copy]; without it nothing can be rolled back.
	Older string
	// Random is where choices come from: the same folder and numbers give the same damage.
	Random *rand.Rand
}

// Damage damages one file of a class. It is one that something is written in, and damaged where something is written: space that was
// only taken ahead does not count. The error is [ErrNothing] if there is none, and [ErrUnchanged] if there
// are some that cannot be rolled back.
func (f Folder) Damage(c Class, form Form) (Damage, error) {
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return Damage{}, fmt.Errorf("damage a file: %w", err)
	}
	defer root.Close()
	classes := []Class{c}
	if c == Any {
		classes = []Class{Log, Data, Meta}
		f.Random.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	}
	some := false
	for _, c := range classes {
		files, err := Files(f.Dir, f.Dialect, c)
		if err != nil {
			return Damage{}, err
		}
		some = some || len(files) > 0
		d, err := f.damage(root, files, form)
		if err == nil || !errors.Is(err, ErrNothing) {
			return d, err
		}
	}
	if form == RollBack && some {
		return Damage{}, fmt.Errorf("files of class %s: %w", c, ErrUnchanged)
	}
	return Damage{}, fmt.Errorf("files of class %s: %w", c, ErrNothing)
}

// damage damages one of some files.
func (f Folder) damage(root *os.Root, files []string, form Form) (Damage, error) {
	pages := func(name string) ([]int64, error) { return written(root, name) }
	if form == RollBack {
		if f.Older == "" {
			return Damage{}, ErrNothing
		}
		older, err := os.OpenRoot(f.Older)
		if err != nil {
			return Damage{}, fmt.Errorf("roll a file back: %w", err)
		}
		defer older.Close()
		pages = func(name string) ([]int64, error) { return changed(root, older, name) }
		name, all, page, err := f.pick(files, pages)
		if err != nil {
			return Damage{}, err
		}
		return f.rollBack(root, older, name, all[page])
	}
	name, all, page, err := f.pick(files, pages)
	if err != nil {
		return Damage{}, err
	}
	switch form {
	case Flip:
		return f.flip(root, name, all, page)
	case Truncate:
		return f.truncate(root, name, all[len(all)-1])
	default:
		return vanish(root, name, form)
	}
}

// pick chooses a page of some files, each as likely as any other. It returns the pages of its file, and which of them it is.
func (f Folder) pick(files []string, pages func(name string) ([]int64, error)) (name string, all []int64, page int, err error) {
	total := 0
	each := make([][]int64, len(files))
	for i, file := range files {
		if each[i], err = pages(file); err != nil {
			return "", nil, 0, fmt.Errorf("look at %s: %w", file, err)
		}
		total += len(each[i])
	}
	if total == 0 {
		return "", nil, 0, ErrNothing
	}
	n := f.Random.IntN(total)
	for i := range files {
		if n < len(each[i]) {
			return files[i], each[i], n, nil
		}
		n -= len(each[i])
	}
	return "", nil, 0, ErrNothing
}

// flip flips bits of pages of a file, the first in a chosen one.
func (f Folder) flip(root *os.Root, name string, pages []int64, page int) (Damage, error) {
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return Damage{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Damage{}, err
	}
	d := Damage{File: name, Form: Flip}
	for range 1 << f.Random.IntN(flipsMax+1) {
		at := pages[page] + f.Random.Int64N(min(pageBytes, info.Size()-pages[page]))
		b := Bit{Offset: at, Mask: 1 << f.Random.IntN(8)}
		var content [1]byte
		if _, err := file.ReadAt(content[:], at); err != nil {
			return d, err
		}
		content[0] ^= b.Mask
		if _, err := file.WriteAt(content[:], at); err != nil {
			return d, err
		}
		d.Bits = append(d.Bits, b)
		page = f.Random.IntN(len(pages))
	}
	d.Offset = d.Bits[0].Offset
	return d, file.Close()
}

// truncate cuts off some of what is written in a file, whose last written page begins at last.
func (f Folder) truncate(root *os.Root, name string, last int64) (Damage, error) {
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return Damage{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Damage{}, err
	}
	page := make([]byte, pageBytes)
	n, err := file.ReadAt(page, last)
	if err != nil && err != io.EOF {
		return Damage{}, err
	}
	end := last + int64(len(strings.TrimRight(string(page[:n]), "\x00")))
	cut := 1 + int64(rand.NewZipf(f.Random, zipfExponent, zipfOffset, uint64(end-1)).Uint64())
	d := Damage{File: name, Form: Truncate, Offset: end - cut, Bytes: info.Size() - (end - cut)}
	return d, errors.Join(file.Truncate(d.Offset), file.Close())
}

// rollBack gives a file older content from one of its pages on.
func (f Folder) rollBack(root, older *os.Root, name string, from int64) (Damage, error) {
	d := Damage{File: name, Form: RollBack, Offset: from}
	old, err := older.Open(name)
	if err != nil {
		return d, err
	}
	defer old.Close()
	content := make([]byte, pageBytes*(1+f.Random.IntN(rollPagesMax)))
	n, err := old.ReadAt(content, from)
	if err != nil && err != io.EOF {
		return d, err
	}
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return d, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return d, err
	}
	d.Bytes = min(int64(n), info.Size()-from)
	_, err = file.WriteAt(content[:d.Bytes], from)
	return d, errors.Join(err, file.Close())
}

// vanish removes a file, or all of its content.
func vanish(root *os.Root, name string, form Form) (Damage, error) {
	info, err := root.Stat(name)
	if err != nil {
		return Damage{}, err
	}
	d := Damage{File: name, Form: form, Bytes: info.Size()}
	if form == Remove {
		return d, root.Remove(name)
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return d, err
	}
	return d, file.Close()
}
