"""One module per kind of page: each turns inputs into a frozen view, which its template lays out."""
