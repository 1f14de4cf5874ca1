package engine

import (
	"runnel/server/accounts"
	"runnel/server/engine/chunks"
)

// answer is what a handler says to a message. Its memory is the worker's, but for the payload.
type answer struct {
	account       *accounts.Account
	reply, header []byte
	payload       []byte
}

// answersBytes is how much memory for answers a worker keeps.
const answersBytes = 64 << 10

// Respond answers the message: the answer goes to all who subscribed to its reply subject in the account of the
// subscription, as soon as all have the message, and is written with the rest of the batch. Unlike a [Publisher] that
// takes no hand-off, so it is for what is known at once. header is copied; payload must not change any more. Without a
// reply subject nothing happens. Only the handler may call Respond, on a message that is no clone.
func (m *Message) Respond(header, payload []byte) {
	if len(m.Reply) > 0 {
		m.worker.answer(m.Reply, header, payload)
	}
}

// answer notes an answer. It is sent later since the match cache and the letter are in use: the message that is
// answered is being routed.
func (w *worker) answer(reply, header, payload []byte) {
	a := answer{account: w.serving.account, payload: payload}
	a.reply, w.answersMemory = keep(w.answersMemory, reply)
	if len(header) < chunks.BorrowBytes {
		a.header, w.answersMemory = keep(w.answersMemory, header)
	} else {
		a.header = append([]byte(nil), header...) // stages borrow it
	}
	w.answers = append(w.answers, a)
}

// keep copies b behind memory, whose earlier pieces stay as they are if it has to move.
func keep(memory, b []byte) (kept, grown []byte) {
	from := len(memory)
	memory = append(memory, b...)
	return memory[from:len(memory):len(memory)], memory
}

// respond sends the answers to a message that was routed. It ends: answers have no reply subject, so nobody answers them.
func (w *worker) respond() {
	for i := range w.answers {
		a := &w.answers[i]
		w.letter.answer(a.reply, a.header, a.payload)
		w.send(w.match.lookup(a.account.Profile(), w.letter.to, fromElsewhere), "")
	}
	w.letter.header, w.letter.payload = nil, nil
	clear(w.answers)
	w.answers = w.answers[:0]
	if w.answersMemory = w.answersMemory[:0]; cap(w.answersMemory) > answersBytes {
		w.answersMemory = nil
	}
}
