# cpu: 18 finally blocks in each other double the code 18 times | expected: rejected at compile
def f(a):
    try: a()
    finally:
        try: a()
        finally:
            try: a()
            finally:
                try: a()
                finally:
                    try: a()
                    finally:
                        try: a()
                        finally:
                            try: a()
                            finally:
                                try: a()
                                finally:
                                    try: a()
                                    finally:
                                        try: a()
                                        finally:
                                            try: a()
                                            finally:
                                                try: a()
                                                finally:
                                                    try: a()
                                                    finally:
                                                        try: a()
                                                        finally:
                                                            try: a()
                                                            finally:
                                                                try: a()
                                                                finally:
                                                                    try: a()
                                                                    finally:
                                                                        try: a()
                                                                        finally:
                                                                            a()

def handle(event, ctx):
    return 'blocked'
