package sales

import (
	"fmt"
	"log/slog"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/postgres"
)

// What Sales lets people do.
const (
	PermissionOrder      identity.Permission = "sales:order"
	PermissionReadOrders identity.Permission = "sales:orders:read"
)

// Deps is what Sales needs from outside.
type Deps struct {
	Source      *postgres.Source
	Pipeline    *command.Pipeline
	Commands    *internalcommand.Queue
	Events      *outbox.Box
	Jobs        *schedule.Schedule
	Permissions *identity.Permissions
	Gateway     Gateway
	Mailer      Mailer
	Customers   Customers
	Logger      *slog.Logger
	// ExpiresAfter is how long an order waits for its payment, at first and after a failed payment.
	ExpiresAfter time.Duration
	// GatewayTimeout bounds one call to the gateway.
	GatewayTimeout time.Duration
	// BaseURL is where people reach the pages, for links in mails: "https://tickets.example.com".
	BaseURL string
}

// Module is Sales. Its exported functions are its doors: whoever calls them goes through the pipeline.
type Module struct {
	PlaceOrder   command.ResultFunc[PlaceOrder, Order]
	PayOrder     command.ResultFunc[PayOrder, Order]
	CancelOrder  command.ResultFunc[CancelOrder, Order]
	ListProducts command.ResultFunc[ListProducts, []Product]
	GetProduct   command.ResultFunc[GetProduct, Product]
	ListOrders   command.ResultFunc[ListOrders, []Order]
	GetOrder     command.ResultFunc[GetOrder, Order]

	ReconcilePayments command.Func[ReconcilePayments]

	expireDoor     command.Func[ExpireUnpaidOrder]
	settleDoor     command.Func[SettlePayment]
	source         *postgres.Source
	commands       *internalcommand.Queue
	events         *outbox.Box
	permissions    *identity.Permissions
	gateway        Gateway
	mailer         Mailer
	customers      Customers
	mails          *mail.Templates
	logger         *slog.Logger
	expiresAfter   time.Duration
	gatewayTimeout time.Duration
	baseURL        string
}

// New wires the module: one line a use case, grouped by what starts it.
func New(d Deps) (*Module, error) {
	mails, err := parseMails()
	if err != nil {
		return nil, fmt.Errorf("sales: %w", err)
	}
	m := &Module{
		source: d.Source, commands: d.Commands, events: d.Events, permissions: d.Permissions, gateway: d.Gateway,
		mailer: d.Mailer, customers: d.Customers, mails: mails, logger: d.Logger.With(slog.String("module", "sales")),
		expiresAfter: d.ExpiresAfter, gatewayTimeout: d.GatewayTimeout, baseURL: d.BaseURL,
	}

	// Commands, started by people.
	m.PlaceOrder = command.HandleOutsideResult(d.Pipeline, d.Source, m.placeOrder)
	m.PayOrder = command.HandleOutsideResult(d.Pipeline, d.Source, m.payOrder)
	m.CancelOrder = command.HandleResult(d.Pipeline, d.Source, m.cancelOrder)

	// Queries.
	m.ListProducts = command.HandleQuery(d.Pipeline, d.Source, m.listProducts)
	m.GetProduct = command.HandleQuery(d.Pipeline, d.Source, m.getProduct)
	m.ListOrders = command.HandleQuery(d.Pipeline, d.Source, m.listOrders)
	m.GetOrder = command.HandleQuery(d.Pipeline, d.Source, m.getOrder)

	// Internal commands, started by the queue when their time has come.
	m.settleDoor = command.HandleOutside(d.Pipeline, d.Source, m.settlePayment)
	m.expireDoor = command.Handle(d.Pipeline, d.Source, m.expireUnpaidOrder)
	internalcommand.Register(d.Commands, m.settleDoor, settleRetry)
	internalcommand.Register(d.Commands, m.expireDoor)
	internalcommand.Register(d.Commands, command.HandleOutside(d.Pipeline, d.Source, m.sendPaymentFailedEmail), mailRetry)
	internalcommand.Register(d.Commands, command.HandleOutside(d.Pipeline, d.Source, m.sendOrderConfirmationEmail), mailRetry)

	// Jobs, started by the clock.
	m.ReconcilePayments = command.HandleOutside(d.Pipeline, d.Source, m.reconcilePayments)
	internalcommand.Register(d.Commands, m.ReconcilePayments)
	m.registerJobs(d.Jobs)

	// Event handlers, started by what happened.
	outbox.Subscribe(d.Events, d.Source, "sales.on_payment_failed", m.onPaymentFailed)
	outbox.Subscribe(d.Events, d.Source, "sales.on_order_paid", m.onOrderPaid)
	return m, nil
}

// Grant registers what the roles may do in Sales.
func Grant(p *identity.Permissions) {
	p.Grant("customer", PermissionOrder)
	p.Grant("organizer", PermissionOrder)
	p.Grant("viewer", PermissionReadOrders)
	p.Grant("operator", PermissionReadOrders)
}

// Routes declares the module's part of the API.
func (m *Module) Routes(api *httpx.API) {
	const tag = "Sales"
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/sales/products", ID: "listProducts", Tags: []string{tag}, Summary: "What is on sale",
	}, m.getProducts)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/sales/products/{id}", ID: "getProduct", Tags: []string{tag}, Summary: "One product",
		Errors: []int{404},
	}, m.getProductRoute)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/sales/orders", ID: "placeOrder", Tags: []string{tag}, Summary: "Order tickets and pay",
		Status: 201, Permission: PermissionOrder, Errors: []int{409},
	}, m.postOrder)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/sales/orders/{id}/payments", ID: "payOrder", Tags: []string{tag}, SignedIn: true,
		Summary: "Pay again after a failed payment", Errors: []int{404, 409, 412},
	}, m.postPayment)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/sales/orders/{id}/cancellation", ID: "cancelOrder", Tags: []string{tag}, SignedIn: true,
		Summary: "Cancel an order that is not paid", Errors: []int{404, 409, 412},
	}, m.postCancellation)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/sales/orders", ID: "listOrders", Tags: []string{tag}, SignedIn: true,
		Summary: "One's own orders; all of them for those who may see them",
	}, m.getOrders)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/sales/orders/{id}", ID: "getOrder", Tags: []string{tag}, SignedIn: true,
		Summary: "One order", Errors: []int{404},
	}, m.getOrderRoute)
}
