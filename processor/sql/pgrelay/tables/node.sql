-- Purpose: who this database node is. Never replicated: each node of a multi-master set holds its own row.
CREATE TABLE pgrelay.node (
    only_row boolean NOT NULL DEFAULT true,
    name     text    NOT NULL,
    number   integer NOT NULL,
    of       integer NOT NULL,
    CONSTRAINT node_pkey PRIMARY KEY (only_row),
    CONSTRAINT node_only_row CHECK (only_row),
    CONSTRAINT node_name CHECK (pg_catalog.char_length(name) BETWEEN 1 AND 63 AND name !~ '[[:cntrl:]]'),
    CONSTRAINT node_number CHECK (number BETWEEN 1 AND of)
);
COMMENT ON TABLE pgrelay.node IS 'Identity of this database node; no row means the node is called local. Leave it out of replication.';
COMMENT ON COLUMN pgrelay.node.only_row IS 'Always true: keeps the table at one row.';
COMMENT ON COLUMN pgrelay.node.name IS 'Name of the node.';
COMMENT ON COLUMN pgrelay.node.number IS 'Number of the node, from 1.';
COMMENT ON COLUMN pgrelay.node.of IS 'How many nodes there are at most: the spacing of ids.';
REVOKE ALL ON TABLE pgrelay.node FROM PUBLIC;
GRANT SELECT ON TABLE pgrelay.node TO pgrelay_admin, pgrelay_processor, pgrelay_monitor;

-- A sequence, not a column: it is read by every deduplicated call and written every second, and a sequence leaves no dead rows behind.
CREATE SEQUENCE pgrelay.twin_floor AS bigint MINVALUE 0 START 0;
COMMENT ON SEQUENCE pgrelay.twin_floor IS 'Milliseconds since 1970 before which no event is pending: bounds the look-up of twins. Published by Processors, node-local.';
REVOKE ALL ON SEQUENCE pgrelay.twin_floor FROM PUBLIC;
GRANT SELECT, UPDATE ON SEQUENCE pgrelay.twin_floor TO pgrelay_processor;
