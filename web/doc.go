// Package web is Plenary for people: pages in a browser, rendered by the server.
//
// A page is one row of the table in site.go, a handler, and a template:
//
//	{get, "/orders/{id}", signedIn, s.order}
//
// The handler reads its own small form, calls a module's door with the request's context, and renders; any error it
// returns. [Site.Wrap] makes a page of whatever the API's layers or a handler refuse, so there is one table of
// statuses and one log line, those of package httpx. Forms are native: POST, then a redirect, so that everything
// works without script, and act.go is the one place where a form changes something.
//
// Templates lie in templates/, one file a page, around layout.html, the parts in parts.html (badge, alert, error, time,
// empty, pager, tabs, cards, live), those of the operators' pages in console_parts.html and job_parts.html, and those of a
// room in room_parts.html. Styles lie in static/plenary.css, whose head is the guide to the design system. The
// modules in static/ make pages that move by themselves:
//
//	page.js     on every page: local times, countdowns, forms that are sent once, the theme
//	live.js     asks again and again: backs off on errors, rests while nobody looks, says how it stands
//	order.js    an order whose status moves
//	board.js    sessions that are being scored
//	room.js     a room, live: one state for the audience, the wall and the host; roomcards.js draws it
//	socket.js   a WebSocket that comes back
//	votes.js    votes on their way, kept while there is no connection
//	console.js  the operators' lists
//	job.js      what a schedule would mean, while it is typed
//	shop.js     quantities and their sum
//	retry.js    the page that waits for the database
//
// Nothing is inline and nothing comes from elsewhere: httpx.DefaultContentPolicy holds on every page but one, the
// HTML part of a mail, which has a stricter one.
package web
