// Before anything starts a thread: a look-up of a name that no server answers holds one, and by default four are all.
process.env['UV_THREADPOOL_SIZE'] ??= '64';

export {};
