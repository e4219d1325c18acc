PRAGMA foreign_keys = ON;

CREATE TABLE IF NOT EXISTS products (
	sku   TEXT PRIMARY KEY,
	name  TEXT NOT NULL,
	about TEXT NOT NULL,
	price INTEGER NOT NULL, -- cents
	stock INTEGER NOT NULL CHECK (stock >= 0)
);

CREATE TABLE IF NOT EXISTS customers (
	id    INTEGER PRIMARY KEY,
	name  TEXT NOT NULL,
	email TEXT NOT NULL UNIQUE
);

CREATE TABLE IF NOT EXISTS orders (
	id       INTEGER PRIMARY KEY,
	once     TEXT NOT NULL UNIQUE, -- the call that placed it: a repeated one changes nothing
	customer INTEGER NOT NULL REFERENCES customers,
	sku      TEXT NOT NULL REFERENCES products,
	quantity INTEGER NOT NULL,
	total    INTEGER NOT NULL,
	receipt  TEXT NOT NULL,
	status   TEXT NOT NULL,
	placed   TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS journal (
	call    TEXT NOT NULL,
	tool    TEXT NOT NULL,
	outcome TEXT NOT NULL
);

INSERT OR IGNORE INTO products VALUES
	('sencha',    'Sencha',      'green tea from Shizuoka, 100 g',       1250, 40),
	('gyokuro',   'Gyokuro',     'shaded green tea from Uji, 50 g',      2900, 6),
	('assam',     'Assam',       'strong black tea, second flush, 250 g', 1100, 75),
	('oolong',    'Tie Guan Yin','rolled oolong from Anxi, 100 g',       1850, 12),
	('kettle',    'Iron kettle', 'cast iron, 0.8 l',                     6400, 2);

INSERT OR IGNORE INTO customers VALUES
	(1, 'Ada Lovelace', 'ada@example.com'),
	(2, 'Grace Hopper', 'grace@example.com'),
	(3, 'Alan Turing',  'alan@example.com');
